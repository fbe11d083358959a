#compdef assay
# Completion for assay in zsh: assay itself says what fits (src/cli/completion.h).
_assay()
{
    local line candidate
    local -a answer whole whole_shown begun begun_shown
    answer=("${(@f)$("${(Q)words[1]}" complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if [[ ${answer[1]} == files ]]; then
        [[ $PREFIX != (-*|*:*)=* ]] || compset -P '*='
        _files
        return
    fi
    for line in "${(@)answer[2,-1]}"; do
        candidate=${line%%$'\t'*}
        case $candidate in
        '') ;;
        *[=:@]) begun+=("$candidate") begun_shown+=("$candidate  ${line#*$'\t'}") ;;
        *) whole+=("$candidate") whole_shown+=("$candidate  ${line#*$'\t'}") ;;
        esac
    done
    compadd -l -d whole_shown -a -- whole
    compadd -S '' -l -d begun_shown -a -- begun
}
if [[ ${funcstack[1]} == _assay ]]; then
    _assay "$@"
else
    compdef _assay assay
fi
