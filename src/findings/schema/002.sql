-- The work of many processes on one campaign (findings/work.h): ranges are rows when they are leased.
DROP TABLE @ranges;
CREATE TABLE @generations (number BIGINT PRIMARY KEY, snapshot TEXT NOT NULL, made DOUBLE PRECISION NOT NULL);
-- finished = 0: under way, or lost when `until` is over. owner = '': handed back.
CREATE TABLE @leases (first BIGINT PRIMARY KEY, number BIGINT NOT NULL, generation BIGINT NOT NULL,
    owner TEXT NOT NULL, attempts BIGINT NOT NULL, since DOUBLE PRECISION NOT NULL,
    until DOUBLE PRECISION NOT NULL, finished DOUBLE PRECISION NOT NULL, cases BIGINT NOT NULL,
    findings BIGINT NOT NULL, counters TEXT NOT NULL, result TEXT NOT NULL);
CREATE INDEX leases_open ON @leases (until) WHERE finished = 0;
CREATE TABLE @follow_ups (signature TEXT PRIMARY KEY, owner TEXT NOT NULL, attempts BIGINT NOT NULL,
    until DOUBLE PRECISION NOT NULL, finished DOUBLE PRECISION NOT NULL);
-- content in base64
CREATE TABLE @files (signature TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (signature, path));
