# Turns a text into C string literals, one for each line.
s/[\\"]/\\&/g
s/^/"/
s/$/\\n"/
