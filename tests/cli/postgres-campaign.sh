# Campaigns in a database: the words of `assay campaign` from an empty database to an exported folder, and its page.
url=$ASSAY_TEST_POSTGRES
plain() { sed -E 's/20[0-9-]+ [0-9:]+Z/DATE/; s/ +[0-9.]+ [KM]B/ SIZE/; s/[0-9]+:[0-9]{2}:[0-9]{2}/TIME/g'; }
assay campaign
assay campaign lst "$url"
assay campaign list
assay campaign list "$url"
assay campaign status "$url"
assay campaign status "$url" night
assay campaign status "postgresql://me:secret@localhost/assay" night
assay campaign init "$url" 'No Name'
assay campaign init "$url"
assay campaign init "$url" night
assay campaign init "$url" night
assay campaign list "$url" | plain
assay campaign status "$url" | plain
assay campaign export "$url" night
assay campaign export "$url" night -o exported
assay campaign export "$url" night -o exported
ls exported
assay findings exported
assay campaign stop "$url"
assay campaign top "$url" -n 1 | plain
assay campaign list "$url" --format json | grep -E 'state|trouble|findings'
assay campaign resume "$url" night
assay campaign init "$url" day
assay campaign top "$url"
assay campaign init "$url" | sort
assay campaign serve "$url" --port 70000
assay campaign list 'postgresql:///none?host=/nowhere' | sed 's/failed: .*/failed: .../'
# A worker, and the page of its campaign, whose commands begin with the export.
# A worker that --time ends tells what was covered, and that the newest finding is new.
"$build/src/cli/assay" fuzz -e reference:fault=bn-sqrt-var --no-probe --ops BatchNormalization,Relu --count 60 --range 20 --time 1s --db "$url" --campaign worked 2>&1 | grep -qE 'coverage  OLC [1-9]' && echo covered
assay campaign status "$url" worked | grep -oE 'last new finding  (0|none)'
quietly fuzz -e reference:fault=bn-sqrt-var --no-probe --ops BatchNormalization,Relu --count 60 --range 20 --db "$url" --campaign worked
assay report --db "$url" --campaign worked --format html -o page.html
grep -oE '<title>[^<]*|<h4>[A-Z][a-z ]*|assay (campaign export|replay) ' page.html | sort -u
grep -oE '<path class="[ab]"' page.html | sort | uniq -c | sed 's/^ *//'
assay report --db "$url" --campaign none --format html -o page.html
assay campaign status "$url" worked | grep -oE 'findings +[0-9]+' | tr -s ' ' >counted
assay campaign export "$url" worked -o worked | grep -oE '[0-9]+ finding' | sed -E 's/([0-9]+) finding/findings \1/' | diff - counted && echo counted alike
