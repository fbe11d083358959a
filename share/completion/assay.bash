# Completion for assay in bash: assay itself says what fits (src/cli/completion.h).
_assay()
{
    local line=${COMP_LINE:0:COMP_POINT} words word answer=() candidate breaks='' cut='' i
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    word=${words[${#words[@]} - 1]}
    COMPREPLY=()
    while IFS= read -r candidate; do
        answer+=("${candidate%%$'\t'*}")
    done < <("${1/#~\//$HOME/}" complete "${words[@]:1}" 2>/dev/null)
    [[ ${answer[0]-} != files ]] || return 0
    # Readline begins a new word behind these characters, and replaces only that.
    for i in : =; do
        [[ $COMP_WORDBREAKS != *$i* ]] || breaks+=$i
    done
    [[ -z $breaks ]] || cut=${word%"${word##*[$breaks]}"}
    # A word that begins with @ keeps it.
    if [[ $COMP_WORDBREAKS == *@* && ${word:${#cut}} == *@* ]]; then
        cut=${word%"@${word##*@}"}
    fi
    for ((i = 1; i < ${#answer[@]}; i++)); do
        COMPREPLY+=("${answer[i]#"$cut"}")
    done
    # Nothing fits: then no file does either.
    compopt +o default
    case ${answer[*]: -1} in *[=:@]) compopt -o nospace ;; esac
}
complete -o default -F _assay assay
