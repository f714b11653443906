# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for resplit. The options of a command are asked from the command itself, so they cannot be stale.

_resplit()
{
    local cur prev words cword
    if declare -F _init_completion >/dev/null; then
        _init_completion -n = || return
    else
        words=("${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=${words[cword]}
        prev=${words[cword - 1]}
    fi

    local commands='split merge extract plan run finish info fingerprint verify bench-disk help' command='' i
    for ((i = 1; i < cword; i++)); do
        case " $commands " in
            *" ${words[i]} "*)
                command=${words[i]}
                break
                ;;
        esac
    done

    case $prev in
        --strategy)
            local names
            names=$("${words[0]}" --version 2>/dev/null | sed -n 's/^strategies: //p')
            mapfile -t COMPREPLY < <(compgen -W "${names//,/}" -- "$cur")
            return
            ;;
        --format | --from-format)
            mapfile -t COMPREPLY < <(compgen -W 'raw npy zarr2 zarr3 hdf5 nifti nifti1 nifti2 minc2' -- "$cur")
            return
            ;;
        --order | --to-order)
            mapfile -t COMPREPLY < <(compgen -W 'C F' -- "$cur")
            return
            ;;
        --dtype | --to-dtype)
            local types='bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64'
            mapfile -t COMPREPLY < <(compgen -W "$types complex64 complex128" -- "$cur")
            return
            ;;
        --minimize)
            mapfile -t COMPREPLY < <(compgen -W 'seconds seeks bytes memory' -- "$cur")
            return
            ;;
        --device)
            mapfile -t COMPREPLY < <(compgen -W 'hdd ssd nvme nfs measure' -- "$cur")
            return
            ;;
        --sync)
            mapfile -t COMPREPLY < <(compgen -W 'none end each' -- "$cur")
            return
            ;;
        --io)
            mapfile -t COMPREPLY < <(compgen -W 'uring threads auto' -- "$cur")
            return
            ;;
        --direct)
            mapfile -t COMPREPLY < <(compgen -W 'on off auto' -- "$cur")
            return
            ;;
        --temp)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            return
            ;;
        --for)
            mapfile -t COMPREPLY < <(compgen -W 'cubes series:0 slices:0' -- "$cur")
            return
            ;;
        --memory | --block-size | --size)
            local number=${cur%%[!0-9.]*}
            mapfile -t COMPREPLY < <(compgen -W "${number:-1}MiB ${number:-1}GiB ${number:-1}MB ${number:-1}GB" -- "$cur")
            return
            ;;
        --chunks | --to | --from | --shape | --roi | --pattern | --from-pattern | --skip | --threads | --part | --parts)
            return
            ;;
    esac

    if [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "${commands% help}" -- "$cur")
    elif [[ $cur == -* ]]; then
        local options
        # shellcheck disable=SC2086 # no command: no argument
        options=$("${words[0]}" $command --help 2>/dev/null | sed -n 's/^ *\(--[a-z-]*\).*/\1/p')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        if [[ -z $command && $cword -eq 1 ]]; then
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$commands" -- "$cur")
        fi
    fi
}

complete -F _resplit resplit
