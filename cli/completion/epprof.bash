# Completion of epprof for bash.  The candidates are read from the help texts.

# Prints the commands, the bridges, the actions of ctl, or the options of a command.
_epprof_words() {
	if [[ $1 == commands ]]; then
		epprof help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
		echo help
	elif [[ $1 == actions ]]; then
		epprof help ctl 2>/dev/null | sed -n '/^Actions:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'
	elif [[ $1 == bridges ]]; then
		epprof help 2>/dev/null | sed -n '/--bridge NAME/,/^$/p' | grep -oE '[a-z]+ \(' | tr -d ' ('
	else
		epprof help "$1" 2>/dev/null | sed -n '/^Options:/,$p' | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'
	fi
}

# Prints the values that an option of a command can have: the formats in its help, or the words that its line there lists.
_epprof_values() {
	local line
	case $2 in
	-t | --type)
		epprof help "$1" 2>/dev/null | sed -n '/^Formats:/,/^$/s/^  \([a-z]*\) .*/\1/p'
		;;
	--format | --by | --sort)
		line=$(epprof help "$1" 2>/dev/null | sed -n "s/^  $2 [A-Z]* *//p")
		sed 's/([^)]*)//g; s/^.*[:;]//; s/,/ /g; s/ or / /g' <<<"$line"
		;;
	esac
}

_epprof() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$(_epprof_words commands) --bridge --help --version" -- "$current")
		return
	fi
	if [[ $command == --bridge ]]; then
		((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "$(_epprof_words bridges)" -- "$current")
		return
	fi
	if [[ $command == help ]]; then
		((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "$(_epprof_words commands)" -- "$current")
		return
	fi
	if [[ $command == ctl && $COMP_CWORD == 2 && $current != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_epprof_words actions)" -- "$current")
		return
	fi
	local values
	values=$(_epprof_values "$command" "$previous")
	if [[ $values ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
	elif [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_epprof_words "$command")" -- "$current")
	fi
	# If there are no candidates of epprof, bash offers file names.
}

complete -o default -F _epprof epprof
