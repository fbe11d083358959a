# Help of everything.
assay help
assay --version
for command in engines run compare conform blocks findings replay report probe; do
    assay $command --help
done
assay help conform
assay completion
