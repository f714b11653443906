# SPDX-License-Identifier: BSD-3-Clause
# Fish completion for resplit.

set -l commands split merge extract plan run finish info fingerprint verify bench-disk help
set -l none "not __fish_seen_subcommand_from $commands"
set -l writing "not __fish_seen_subcommand_from plan finish info fingerprint verify bench-disk help"
set -l moving "not __fish_seen_subcommand_from plan finish info bench-disk help"
set -l target "not __fish_seen_subcommand_from run finish info fingerprint verify bench-disk help"
set -l every "not __fish_seen_subcommand_from run finish bench-disk help"
set -l all "not __fish_seen_subcommand_from help"

complete -c resplit -n "$none" -a split -d 'one array into a grid of files'
complete -c resplit -n "$none" -a merge -d 'a grid of files into one array'
complete -c resplit -n "$none" -a extract -d 'a region of interest'
complete -c resplit -n "$none" -a plan -d 'predict what a run would do, touching nothing'
complete -c resplit -n "$none" -a run -d 'run a plan that was saved'
complete -c resplit -n "$none" -a finish -d 'publish an array that was made in partitions'
complete -c resplit -n "$none" -a info -d 'what an array is and how it is cut'
complete -c resplit -n "$none" -a fingerprint -d 'a number for the values of an array'
complete -c resplit -n "$none" -a verify -d 'do two arrays hold the same values?'
complete -c resplit -n "$none" -a bench-disk -d 'what a disk can do'
complete -c resplit -n "$none" -a help -d 'the options of a command'
complete -c resplit -n '__fish_seen_subcommand_from help' \
    -f -a 'split merge extract plan run finish info fingerprint verify bench-disk'

complete -c resplit -n "$target; and not __fish_seen_subcommand_from merge" -l chunks -x \
    -a auto -d 'how the target is cut, one length per axis'
complete -c resplit -n "$target; and not __fish_seen_subcommand_from merge" -l for -x -a 'cubes series:0 slices:0' \
    -d 'with --chunks auto, how the target will be read'
complete -c resplit -n "$target; and not __fish_seen_subcommand_from merge" -l block-size -x \
    -d 'with --chunks auto, about how large a block is to be'
complete -c resplit -n '__fish_seen_subcommand_from plan' -l to -x -d 'the same as --chunks'
complete -c resplit -n "$target; and not __fish_seen_subcommand_from split merge" -l roi -x \
    -d 'only this region, one NumPy slice per axis'
complete -c resplit -n "$every; and not __fish_seen_subcommand_from info" -l memory -x -d 'the most memory to use'
complete -c resplit -n "$target" -l strategy -x -d 'how to go about it' \
    -a "(resplit --version 2>/dev/null | string replace -f -r '^strategies: ' '' | string split ', ')"
complete -c resplit -n "$target" -l minimize -x -a 'seconds seeks bytes memory' \
    -d 'what auto looks for among the plans that fit'
complete -c resplit -n "$target" -l device -x -a 'hdd ssd nvme nfs measure' -d 'what seconds are predicted for'
complete -c resplit -n "$target" -l temp -x -a '(__fish_complete_directories)' -d 'folder for a temporary file'
complete -c resplit -n '__fish_seen_subcommand_from bench-disk' -l size -x -d 'of each of the two files to measure with'
complete -c resplit -n '__fish_seen_subcommand_from plan' -l curve -d 'tabulate the cost against memory'
complete -c resplit -n "$target" -l codec -x -a 'none zstd:3 gzip:6 blosc:lz4:5:shuffle' -d 'of a Zarr or HDF5 target'
complete -c resplit -n "$target" -l shards -x -d 'of a Zarr target, how much of each axis is in one file'
complete -c resplit -n "$target" -l to-order -x -a 'C F' -d 'of the elements in a block of the target'
complete -c resplit -n "$target" -l to-dtype -x -d 'cast values to this type'
complete -c resplit -n "$target" -l write-empty -d 'write chunks of a Zarr target too that hold only its fill value'
complete -c resplit -n "$target" -l ome -d 'make an OME-Zarr image, with one level'
complete -c resplit -n "$target" -l virtual -d 'DST, one HDF5 file, says where the data of SRC are, and has none'
complete -c resplit -n "$writing" -l all-levels -d 'of an OME-Zarr image, every level of it'
complete -c resplit -n "$target" -l format -x -a 'raw npy zarr2 zarr3 hdf5 nifti nifti1 nifti2 minc2' -d "of the target's files"
complete -c resplit -n "$target" -l pattern -x -d "names of the target's files"
complete -c resplit -n '__fish_seen_subcommand_from info fingerprint verify' -l format -x -a 'raw npy zarr2 zarr3 hdf5 nifti nifti1 nifti2 minc2' -d 'of the files'
complete -c resplit -n '__fish_seen_subcommand_from info fingerprint verify' -l pattern -x \
    -d 'names of the files in the folder'
complete -c resplit -n '__fish_seen_subcommand_from plan' -l save -r -d 'write the plan to a file'
complete -c resplit -n '__fish_seen_subcommand_from plan' -l picture -r -d 'draw the plan into an SVG file'
complete -c resplit -n "$writing; or __fish_seen_subcommand_from plan" -l part -x -d 'only partition K of N, as 3/16'
complete -c resplit -n '__fish_seen_subcommand_from plan' -l parts -x -d 'plan for N partitions'
complete -c resplit -n '__fish_seen_subcommand_from finish' -l overwrite -d 'replace DST if it is there'
complete -c resplit -n '__fish_seen_subcommand_from finish' -l sync -x -a 'none end each' -d 'when data is brought to disk'
complete -c resplit -n "$writing" -l overwrite -d 'replace DST if it is there, when the new one is complete'
complete -c resplit -n "$writing" -l resume -d 'go on with what a run left that was killed, stopped or failed'
complete -c resplit -n "$writing" -l sync -x -a 'none end each' -d 'when data is brought to disk'
complete -c resplit -n "$moving" -l threads -x -d 'workers at most'
complete -c resplit -n "$moving" -l io -x -a 'uring threads auto' -d 'how files are read and written'
complete -c resplit -n "$moving" -l direct -x -a 'on off auto' -d 'pass by the page cache'
complete -c resplit -n '__fish_seen_subcommand_from verify' -l exact -d 'compare all bytes, not fingerprints'
complete -c resplit -n "$every" -l dtype -x -d 'element type of a raw source' \
    -a 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128'
complete -c resplit -n "$every" -l order -x -a 'C F' -d 'of a raw source'
complete -c resplit -n "$every" -l shape -x -d 'of a raw source, the whole array'
complete -c resplit -n "$every" -l from -x -d 'how a raw source is cut into files'
complete -c resplit -n "$every" -l skip -x -d 'bytes before the data of each raw file'
complete -c resplit -n "$target" -l from-format -x -a 'raw npy zarr2 zarr3 hdf5 nifti nifti1 nifti2 minc2' -d 'of the source'
complete -c resplit -n "$target" -l from-pattern -x -d "names of the source's files"
complete -c resplit -n "$all" -l json -d 'print one JSON object instead of text'
complete -c resplit -n "$all" -l quiet -d 'no report, no notes, no progress bar'
complete -c resplit -s h -l help -d 'print the help of a command'
complete -c resplit -n "$none" -l version -d 'print the version'
