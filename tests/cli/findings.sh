# No campaign, a database that is none.
assay findings
assay findings .
echo rubbish >assay.db
assay findings .
