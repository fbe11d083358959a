# Completion for assay in fish: assay itself says what fits (src/cli/completion.h).
function __assay_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l answer ($before[1] complete $before[2..-1] "$word" 2>/dev/null)
    if test "$answer[1]" = files
        set -l stem (string match -r -- '^(?:-[^=]*|[^=]*:.*)=' "$word")
        for path in (__fish_complete_path (string replace -- "$stem" '' "$word"))
            echo -- "$stem$path"
        end
    else if set -q answer[2]
        printf '%s\n' $answer[2..-1]
    end
end
complete -c assay -f -a '(__assay_complete)'
