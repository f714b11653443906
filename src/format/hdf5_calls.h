/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5_calls.h - libhdf5, loaded when the first HDF5 file is met.
 *
 * It is not linked: on Debian it brings thirty libraries along (it can read from the web), which would cost every run,
 * of whatever format, 10 ms and 8 MiB that are not in its budget. So this has every call that we make, as a pointer,
 * under its own name. Includes hdf5.h; nobody else does. Private to this room.
 */
#ifndef RS_HDF5_CALLS_H
#define RS_HDF5_CALLS_H

#include "base/base.h"

#include <hdf5.h>
#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h> /* what drivers are made of */
#endif

#if H5_VERSION_GE(1, 12, 0)
#define RS_HDF5_LVISIT(CALL) CALL(H5Lvisit1)
#else
#define RS_HDF5_LVISIT(CALL) CALL(H5Lvisit)
#endif

/* clang-format off */
#define RS_HDF5_CALLS(CALL) \
    RS_HDF5_LVISIT(CALL) \
    CALL(H5Dget_storage_size) CALL(H5Iinc_ref) CALL(H5Pget_virtual_count) CALL(H5Pset_virtual) CALL(H5Sget_select_npoints) CALL(H5Pget_virtual_dsetname) \
    CALL(H5Pget_virtual_filename) CALL(H5Pget_virtual_vspace) CALL(H5Pget_virtual_srcspace) CALL(H5Pset_chunk_cache) CALL(H5Sselect_hyperslab) CALL(H5Sget_select_bounds) CALL(H5Sget_select_type) CALL(H5Zfilter_avail) CALL(H5Zget_filter_info) \
    CALL(H5Acreate2) CALL(H5Aexists) CALL(H5Aexists_by_name) CALL(H5Aget_create_plist) CALL(H5Aget_space) \
    CALL(H5Aget_storage_size) CALL(H5Aget_type) CALL(H5Aiterate2) CALL(H5Aopen) CALL(H5Aopen_by_name) CALL(H5Aread) \
    CALL(H5Awrite) CALL(H5Dcreate_anon) CALL(H5Dget_create_plist) CALL(H5Dget_num_chunks) CALL(H5Dget_offset) \
    CALL(H5Dget_space) CALL(H5Dget_space_status) CALL(H5Dget_type) CALL(H5Dopen2) CALL(H5Dread) CALL(H5Dread_chunk) \
    CALL(H5Dvlen_reclaim) CALL(H5Dwrite_chunk) CALL(H5Eclear2) CALL(H5Eget_current_stack) CALL(H5Eset_current_stack) CALL(H5Eget_auto2) CALL(H5Eset_auto2) CALL(H5Ewalk2) \
    CALL(H5FDregister) CALL(H5Iget_type) CALL(H5Fclose) CALL(H5Fcreate) CALL(H5Fget_vfd_handle) CALL(H5Fopen) \
    CALL(H5Gcreate2) CALL(H5Gget_create_plist) CALL(H5Gopen2) CALL(H5Idec_ref) CALL(H5Lcreate_external) \
    CALL(H5Lcreate_hard) CALL(H5Lcreate_soft) CALL(H5Lexists) CALL(H5Lget_val) CALL(H5Lunpack_elink_val) \
    CALL(H5Ocopy) CALL(H5Oget_info_by_name2) CALL(H5Olink) CALL(H5Oopen) CALL(H5PLget_loading_state) \
    CALL(H5PLset_loading_state) CALL(H5Pclose) CALL(H5Pcreate) \
    CALL(H5Pfill_value_defined) CALL(H5Pget_attr_creation_order) CALL(H5Pget_chunk) CALL(H5Pget_chunk_opts) \
    CALL(H5Pget_driver_info) CALL(H5Pget_external) CALL(H5Pget_external_count) CALL(H5Pget_fill_time) CALL(H5Pget_fill_value) \
    CALL(H5Pget_filter2) CALL(H5Pget_layout) CALL(H5Pget_mdc_config) CALL(H5Pset_mdc_config) CALL(H5Pget_link_creation_order) CALL(H5Pget_nfilters) \
    CALL(H5Pset_alloc_time) CALL(H5Pset_attr_creation_order) CALL(H5Pset_chunk) \
    CALL(H5Pset_create_intermediate_group) CALL(H5Pset_deflate) CALL(H5Pset_driver) CALL(H5Pset_fclose_degree) \
    CALL(H5Pset_fill_time) CALL(H5Pset_fill_value) CALL(H5Pset_filter) CALL(H5Pset_fletcher32) CALL(H5Pset_layout) \
    CALL(H5Pset_link_creation_order) CALL(H5Pset_shuffle) CALL(H5Rcreate) CALL(H5Rget_name) CALL(H5Screate) \
    CALL(H5Screate_simple) CALL(H5Sget_simple_extent_dims) CALL(H5Sget_simple_extent_ndims) \
    CALL(H5Sget_simple_extent_npoints) CALL(H5Sget_simple_extent_type) CALL(H5Tarray_create2) CALL(H5Tcopy) CALL(H5Tcreate) \
    CALL(H5Tdecode) CALL(H5Tdetect_class) CALL(H5Tencode) CALL(H5Tenum_create) CALL(H5Tenum_insert) \
    CALL(H5Tenum_valueof) CALL(H5Tequal) CALL(H5Tget_array_dims2) CALL(H5Tget_array_ndims) CALL(H5Tget_class) \
    CALL(H5Tget_ebias) CALL(H5Tget_fields) CALL(H5Tget_member_name) CALL(H5Tget_member_offset) \
    CALL(H5Tget_member_type) CALL(H5Tget_nmembers) CALL(H5Tget_norm) CALL(H5Tget_offset) CALL(H5Tget_order) \
    CALL(H5Tget_precision) CALL(H5Tget_sign) CALL(H5Tget_size) CALL(H5Tget_super) CALL(H5Tget_tag) CALL(H5Tinsert) \
    CALL(H5Tis_variable_str) CALL(H5Tset_ebias) CALL(H5Tset_fields) CALL(H5Tset_order) CALL(H5Tset_precision) \
    CALL(H5Tset_size) CALL(H5Tset_strpad) CALL(H5Tset_tag) CALL(H5dont_atexit) CALL(H5free_memory) \
    CALL(H5get_libversion) CALL(H5open) CALL(H5Adelete) CALL(H5Dwrite) \
    CALL(H5Fget_filesize)

/* Ids of types and classes, which are variables. */
#define RS_HDF5_IDS(ID) \
    ID(H5P_CLS_DATASET_ACCESS_ID_g) ID(H5P_CLS_DATASET_CREATE_ID_g) ID(H5P_CLS_FILE_ACCESS_ID_g) ID(H5P_CLS_FILE_CREATE_ID_g) \
    ID(H5P_CLS_LINK_CREATE_ID_g) ID(H5T_C_S1_g) ID(H5T_IEEE_F32LE_g) ID(H5T_IEEE_F64LE_g) ID(H5T_NATIVE_LDOUBLE_g) \
    ID(H5T_STD_I16LE_g) ID(H5T_STD_I32LE_g) ID(H5T_STD_I64LE_g) ID(H5T_STD_I8LE_g) ID(H5T_STD_REF_OBJ_g) \
    ID(H5T_STD_U16LE_g) ID(H5T_STD_U32LE_g) ID(H5T_STD_U64LE_g) ID(H5T_STD_U8LE_g) ID(H5T_NATIVE_DOUBLE_g)
/* clang-format on */

#define RS_HDF5_POINTER(name) __typeof__(name) *(name);
typedef struct rs_hdf5_calls {
    RS_HDF5_CALLS(RS_HDF5_POINTER)
    RS_HDF5_IDS(RS_HDF5_POINTER)
} rs_hdf5_calls;

/* Written once, with the lock of hdf5.h. */
extern rs_hdf5_calls rs_h5;

/* RESPLIT_EUNSUPPORTED: there is none, or one of another version than this was built for. With that lock. */
resplit_status rs_hdf5_load(resplit_error *err);

#ifndef RS_HDF5_LOADING                          /* by its own names, from here on */
#define H5check_version(major, minor, release) 0 /* it ends the program; rs_hdf5_load returns */
#define H5Lvisit (*rs_h5.H5Lvisit)
#define H5Lvisit1 (*rs_h5.H5Lvisit1)
#define H5Dget_storage_size (*rs_h5.H5Dget_storage_size)
#define H5Iinc_ref (*rs_h5.H5Iinc_ref)
#define H5Pset_virtual (*rs_h5.H5Pset_virtual)
#define H5Sget_select_npoints (*rs_h5.H5Sget_select_npoints)
#define H5Pget_virtual_count (*rs_h5.H5Pget_virtual_count)
#define H5Pget_virtual_dsetname (*rs_h5.H5Pget_virtual_dsetname)
#define H5Pget_virtual_srcspace (*rs_h5.H5Pget_virtual_srcspace)
#define H5Pget_virtual_vspace (*rs_h5.H5Pget_virtual_vspace)
#define H5Pget_virtual_filename (*rs_h5.H5Pget_virtual_filename)
#define H5Pset_chunk_cache (*rs_h5.H5Pset_chunk_cache)
#define H5Sget_select_type (*rs_h5.H5Sget_select_type)
#define H5Sget_select_bounds (*rs_h5.H5Sget_select_bounds)
#define H5Sselect_hyperslab (*rs_h5.H5Sselect_hyperslab)
#define H5Zfilter_avail (*rs_h5.H5Zfilter_avail)
#define H5Zget_filter_info (*rs_h5.H5Zget_filter_info)
#define H5P_CLS_DATASET_ACCESS_ID_g (*rs_h5.H5P_CLS_DATASET_ACCESS_ID_g)
#define H5Acreate2 (*rs_h5.H5Acreate2)
#define H5Aexists (*rs_h5.H5Aexists)
#define H5Aexists_by_name (*rs_h5.H5Aexists_by_name)
#define H5Aget_create_plist (*rs_h5.H5Aget_create_plist)
#define H5Aget_space (*rs_h5.H5Aget_space)
#define H5Aget_storage_size (*rs_h5.H5Aget_storage_size)
#define H5Aget_type (*rs_h5.H5Aget_type)
#define H5Aiterate2 (*rs_h5.H5Aiterate2)
#define H5Aopen (*rs_h5.H5Aopen)
#define H5Aopen_by_name (*rs_h5.H5Aopen_by_name)
#define H5Aread (*rs_h5.H5Aread)
#define H5Awrite (*rs_h5.H5Awrite)
#define H5Dcreate_anon (*rs_h5.H5Dcreate_anon)
#define H5Dget_create_plist (*rs_h5.H5Dget_create_plist)
#define H5Dget_num_chunks (*rs_h5.H5Dget_num_chunks)
#define H5Dget_offset (*rs_h5.H5Dget_offset)
#define H5Dget_space (*rs_h5.H5Dget_space)
#define H5Dget_space_status (*rs_h5.H5Dget_space_status)
#define H5Dget_type (*rs_h5.H5Dget_type)
#define H5Dopen2 (*rs_h5.H5Dopen2)
#define H5Dread (*rs_h5.H5Dread)
#define H5Dread_chunk (*rs_h5.H5Dread_chunk)
#define H5Dvlen_reclaim (*rs_h5.H5Dvlen_reclaim)
#define H5Dwrite_chunk (*rs_h5.H5Dwrite_chunk)
#define H5Eclear2 (*rs_h5.H5Eclear2)
#define H5Eget_current_stack (*rs_h5.H5Eget_current_stack)
#define H5Eset_current_stack (*rs_h5.H5Eset_current_stack)
#define H5Eget_auto2 (*rs_h5.H5Eget_auto2)
#define H5Eset_auto2 (*rs_h5.H5Eset_auto2)
#define H5Ewalk2 (*rs_h5.H5Ewalk2)
#define H5FDregister (*rs_h5.H5FDregister)
#define H5Iget_type (*rs_h5.H5Iget_type)
#define H5Fclose (*rs_h5.H5Fclose)
#define H5Fcreate (*rs_h5.H5Fcreate)
#define H5Fget_vfd_handle (*rs_h5.H5Fget_vfd_handle)
#define H5Fopen (*rs_h5.H5Fopen)
#define H5Gcreate2 (*rs_h5.H5Gcreate2)
#define H5Gget_create_plist (*rs_h5.H5Gget_create_plist)
#define H5Gopen2 (*rs_h5.H5Gopen2)
#define H5Idec_ref (*rs_h5.H5Idec_ref)
#define H5Lcreate_external (*rs_h5.H5Lcreate_external)
#define H5Lcreate_hard (*rs_h5.H5Lcreate_hard)
#define H5Lcreate_soft (*rs_h5.H5Lcreate_soft)
#define H5Lexists (*rs_h5.H5Lexists)
#define H5Lget_val (*rs_h5.H5Lget_val)
#define H5Lunpack_elink_val (*rs_h5.H5Lunpack_elink_val)
#define H5Ocopy (*rs_h5.H5Ocopy)
#define H5Oget_info_by_name2 (*rs_h5.H5Oget_info_by_name2)
#define H5Olink (*rs_h5.H5Olink)
#define H5Oopen (*rs_h5.H5Oopen)
#define H5PLget_loading_state (*rs_h5.H5PLget_loading_state)
#define H5PLset_loading_state (*rs_h5.H5PLset_loading_state)
#define H5Pclose (*rs_h5.H5Pclose)
#define H5Pcreate (*rs_h5.H5Pcreate)
#define H5Pfill_value_defined (*rs_h5.H5Pfill_value_defined)
#define H5Pget_attr_creation_order (*rs_h5.H5Pget_attr_creation_order)
#define H5Pget_chunk (*rs_h5.H5Pget_chunk)
#define H5Pget_chunk_opts (*rs_h5.H5Pget_chunk_opts)
#define H5Pget_driver_info (*rs_h5.H5Pget_driver_info)
#define H5Pget_external (*rs_h5.H5Pget_external)
#define H5Pget_external_count (*rs_h5.H5Pget_external_count)
#define H5Pget_fill_time (*rs_h5.H5Pget_fill_time)
#define H5Pget_fill_value (*rs_h5.H5Pget_fill_value)
#define H5Pget_filter2 (*rs_h5.H5Pget_filter2)
#define H5Pget_mdc_config (*rs_h5.H5Pget_mdc_config)
#define H5Pset_mdc_config (*rs_h5.H5Pset_mdc_config)
#define H5Pget_layout (*rs_h5.H5Pget_layout)
#define H5Pget_link_creation_order (*rs_h5.H5Pget_link_creation_order)
#define H5Pget_nfilters (*rs_h5.H5Pget_nfilters)
#define H5Pset_alloc_time (*rs_h5.H5Pset_alloc_time)
#define H5Pset_attr_creation_order (*rs_h5.H5Pset_attr_creation_order)
#define H5Pset_chunk (*rs_h5.H5Pset_chunk)
#define H5Pset_create_intermediate_group (*rs_h5.H5Pset_create_intermediate_group)
#define H5Pset_deflate (*rs_h5.H5Pset_deflate)
#define H5Pset_driver (*rs_h5.H5Pset_driver)
#define H5Pset_fclose_degree (*rs_h5.H5Pset_fclose_degree)
#define H5Pset_fill_time (*rs_h5.H5Pset_fill_time)
#define H5Pset_fill_value (*rs_h5.H5Pset_fill_value)
#define H5Pset_filter (*rs_h5.H5Pset_filter)
#define H5Pset_fletcher32 (*rs_h5.H5Pset_fletcher32)
#define H5Pset_layout (*rs_h5.H5Pset_layout)
#define H5Pset_link_creation_order (*rs_h5.H5Pset_link_creation_order)
#define H5Pset_shuffle (*rs_h5.H5Pset_shuffle)
#define H5Rcreate (*rs_h5.H5Rcreate)
#define H5Rget_name (*rs_h5.H5Rget_name)
#define H5Screate (*rs_h5.H5Screate)
#define H5Screate_simple (*rs_h5.H5Screate_simple)
#define H5Sget_simple_extent_dims (*rs_h5.H5Sget_simple_extent_dims)
#define H5Sget_simple_extent_ndims (*rs_h5.H5Sget_simple_extent_ndims)
#define H5Sget_simple_extent_npoints (*rs_h5.H5Sget_simple_extent_npoints)
#define H5Sget_simple_extent_type (*rs_h5.H5Sget_simple_extent_type)
#define H5Tarray_create2 (*rs_h5.H5Tarray_create2)
#define H5Tcopy (*rs_h5.H5Tcopy)
#define H5Tcreate (*rs_h5.H5Tcreate)
#define H5Tdecode (*rs_h5.H5Tdecode)
#define H5Tdetect_class (*rs_h5.H5Tdetect_class)
#define H5Tencode (*rs_h5.H5Tencode)
#define H5Tenum_create (*rs_h5.H5Tenum_create)
#define H5Tenum_insert (*rs_h5.H5Tenum_insert)
#define H5Tenum_valueof (*rs_h5.H5Tenum_valueof)
#define H5Tequal (*rs_h5.H5Tequal)
#define H5Tget_array_dims2 (*rs_h5.H5Tget_array_dims2)
#define H5Tget_array_ndims (*rs_h5.H5Tget_array_ndims)
#define H5Tget_class (*rs_h5.H5Tget_class)
#define H5Tget_ebias (*rs_h5.H5Tget_ebias)
#define H5Tget_fields (*rs_h5.H5Tget_fields)
#define H5Tget_member_name (*rs_h5.H5Tget_member_name)
#define H5Tget_member_offset (*rs_h5.H5Tget_member_offset)
#define H5Tget_member_type (*rs_h5.H5Tget_member_type)
#define H5Tget_nmembers (*rs_h5.H5Tget_nmembers)
#define H5Tget_norm (*rs_h5.H5Tget_norm)
#define H5Tget_offset (*rs_h5.H5Tget_offset)
#define H5Tget_order (*rs_h5.H5Tget_order)
#define H5Tget_precision (*rs_h5.H5Tget_precision)
#define H5Tget_sign (*rs_h5.H5Tget_sign)
#define H5Tget_size (*rs_h5.H5Tget_size)
#define H5Tget_super (*rs_h5.H5Tget_super)
#define H5Tget_tag (*rs_h5.H5Tget_tag)
#define H5Tinsert (*rs_h5.H5Tinsert)
#define H5Tis_variable_str (*rs_h5.H5Tis_variable_str)
#define H5Tset_ebias (*rs_h5.H5Tset_ebias)
#define H5Tset_fields (*rs_h5.H5Tset_fields)
#define H5Tset_order (*rs_h5.H5Tset_order)
#define H5Tset_precision (*rs_h5.H5Tset_precision)
#define H5Tset_size (*rs_h5.H5Tset_size)
#define H5Tset_strpad (*rs_h5.H5Tset_strpad)
#define H5Tset_tag (*rs_h5.H5Tset_tag)
#define H5dont_atexit (*rs_h5.H5dont_atexit)
#define H5free_memory (*rs_h5.H5free_memory)
#define H5get_libversion (*rs_h5.H5get_libversion)
#define H5open (*rs_h5.H5open)
#define H5Adelete (*rs_h5.H5Adelete)
#define H5Dwrite (*rs_h5.H5Dwrite)
#define H5Fget_filesize (*rs_h5.H5Fget_filesize)
#define H5P_CLS_DATASET_CREATE_ID_g (*rs_h5.H5P_CLS_DATASET_CREATE_ID_g)
#define H5P_CLS_FILE_ACCESS_ID_g (*rs_h5.H5P_CLS_FILE_ACCESS_ID_g)
#define H5P_CLS_FILE_CREATE_ID_g (*rs_h5.H5P_CLS_FILE_CREATE_ID_g)
#define H5P_CLS_LINK_CREATE_ID_g (*rs_h5.H5P_CLS_LINK_CREATE_ID_g)
#define H5T_C_S1_g (*rs_h5.H5T_C_S1_g)
#define H5T_IEEE_F32LE_g (*rs_h5.H5T_IEEE_F32LE_g)
#define H5T_IEEE_F64LE_g (*rs_h5.H5T_IEEE_F64LE_g)
#define H5T_NATIVE_LDOUBLE_g (*rs_h5.H5T_NATIVE_LDOUBLE_g)
#define H5T_STD_I16LE_g (*rs_h5.H5T_STD_I16LE_g)
#define H5T_STD_I32LE_g (*rs_h5.H5T_STD_I32LE_g)
#define H5T_STD_I64LE_g (*rs_h5.H5T_STD_I64LE_g)
#define H5T_STD_I8LE_g (*rs_h5.H5T_STD_I8LE_g)
#define H5T_STD_REF_OBJ_g (*rs_h5.H5T_STD_REF_OBJ_g)
#define H5T_STD_U16LE_g (*rs_h5.H5T_STD_U16LE_g)
#define H5T_STD_U32LE_g (*rs_h5.H5T_STD_U32LE_g)
#define H5T_STD_U64LE_g (*rs_h5.H5T_STD_U64LE_g)
#define H5T_STD_U8LE_g (*rs_h5.H5T_STD_U8LE_g)
#define H5T_NATIVE_DOUBLE_g (*rs_h5.H5T_NATIVE_DOUBLE_g)
#endif

#endif
