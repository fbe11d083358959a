# A text as the body of a C string literal, a literal a line.
s/[\\"]/\\&/g
s/^/"/
s/$/\\n"/
