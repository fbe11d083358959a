# Settings of an engine without releases: a value that stands for text ("NAME") is no setting to try.
assay bisect "$cases/node/test_batchnorm_epsilon" -e reference:fault=bn-sqrt-var
