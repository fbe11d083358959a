# What there is, in text and JSON; engines that do not start are listed with the reason.
assay engines identity
assay engines identity --format json
assay engines reference
assay engines reference --faults
assay engines --faults --format json | grep -A 8 '"bn-sqrt-var"'
assay engines identity --faults
assay engines -E "$bad" absent
assay engines -E "$bad" bad --format json
assay engines nobody
assay engines -E none.ini
