# The page of a campaign: one file that loads and runs nothing, what is not known first, what is known folded away.
hash() { sed -E 's/-[0-9a-f]{12}/-HASH/g'; }
quietly fuzz -e reference:fault=pad-slice-merged -e reference:fault=bn-sqrt-var --no-probe --ops Pad,Slice,BatchNormalization --count 60 \
    -o campaign
quietly report campaign
one=$("$build/src/cli/assay" findings campaign --op BatchNormalization --format json | grep -m 1 -oE 'wrong-batchnormalization-[0-9a-f]{12}')
quietly findings campaign --mute "$one" --because 'it is planted'
assay report campaign --format html -o page.html
# The same without what changes from run to run.
grep -oE '<(h1|h2)>[^<]*|id="[a-z]+"|<title>[^<]*|href="[a-z#]+-?' page.html | sort | uniq -c | sed -E 's/^ +[2-9][0-9]*/ N/; s/^ +/ /'
grep -c '<script\|http:\|https:\|<link\|<iframe' page.html
sed -n '/id="known"/,$p' page.html | grep -oE '<summary>.*</summary>|<td class="t">findings/[a-z]+-[a-z]+'
sed '/id="known"/,$d' page.html | grep -c "$one" # what is known is nowhere else
grep -oE 'assay replay campaign/findings/[a-z0-9-]+' page.html | hash | sort -u
grep -c 'src="data:image/svg+xml;base64,' page.html | sed 's/^[1-9][0-9]*$/some maps/'
grep -oE '<path class="[ab]"' page.html | sort | uniq -c | sed 's/^ *//'
grep -oE '<th[^>]*>(operator|reference[^<]*)' page.html | sort -u
head -n 3 campaign/findings/README.md
# The first command of the page really shows it.
$(grep -m 1 -oE 'assay replay campaign/findings/[a-z0-9-]+' page.html) | hash
# A page of Assay's is written again, another file is not.
assay report campaign --format html -o page.html
echo mine >own.html
assay report campaign --format html -o own.html
assay report campaign --format html --show wrong-batch -o one.html
grep -c '<article' one.html
assay report campaign --format html --show nothing -o one.html
assay report campaign --format html --again -o one.html
assay report --format html -o one.html
assay report campaign --campaign night
assay report --db postgresql:///none --format html -o one.html
assay report nowhere --format html -o one.html
# An engine file that is needed stands in the commands.
printf '[own]\ncommand = {libexec}/assay-engine-reference\nlike = reference\n' >own.ini
quietly fuzz -E own.ini -e own:fault=bn-sqrt-var --no-probe --ops BatchNormalization --count 10 -o owned
quietly report owned -E own.ini
assay report owned -E own.ini --format html -o owned.html
grep -oE 'assay replay -E own.ini owned/findings/[a-z]+' owned.html | sort -u
