# The archive of cases with bounds: the same bytes in two folders, read again and right by the reference.
mkdir one two
cd one
assay corpus --ops Relu,MaxPool,Cast,ArgMax -o corpus.tar
cd ../two
quietly corpus --ops Relu,MaxPool,Cast,ArgMax -o corpus.tar
cmp corpus.tar ../one/corpus.tar && echo the same bytes
tar -xf corpus.tar
mv assay-conformance-* corpus
ls corpus
ls corpus/cases | wc -l
ls corpus/cases/$(ls corpus/cases | grep Relu | head -1)/test_data_set_0
assay conform corpus/cases -e reference | head -3
grep -c '"covers"' corpus/index.json
# Cases of a folder; a golden that is wrong is corrected.
mkdir suite && cp -r $cases/node/test_abs $cases/node/test_cast_FLOAT_to_BFLOAT16 $cases/node/test_bernoulli suite
assay corpus --no-generated official=suite -o official.tar
tar -xf official.tar
cat assay-conformance-*/corrected.tsv assay-conformance-*/left-out.tsv
assay corpus --no-generated official=suite -o official.tar
assay corpus --no-generated
assay corpus suite
assay corpus -o corpus.zip
assay corpus --ops Nosuch -o x.tar
