-- What every campaign holds. Files of the first versions were made by exactly these words.
CREATE TABLE @findings (signature TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
    engine TEXT NOT NULL, version TEXT NOT NULL, operators TEXT NOT NULL, title TEXT NOT NULL,
    recipe TEXT NOT NULL, status TEXT NOT NULL, bundle TEXT NOT NULL, same_as TEXT NOT NULL,
    factor DOUBLE PRECISION, nodes BIGINT NOT NULL, first_seen BIGINT NOT NULL);
CREATE TABLE @occurrences (signature TEXT NOT NULL, engine TEXT NOT NULL, recipe TEXT NOT NULL,
    version TEXT NOT NULL, title TEXT NOT NULL, factor DOUBLE PRECISION, seen BIGINT NOT NULL,
    PRIMARY KEY (signature, engine, recipe));
CREATE TABLE @history (signature TEXT NOT NULL, engine TEXT NOT NULL, verdict TEXT NOT NULL,
    PRIMARY KEY (signature, engine));
CREATE TABLE @engines (label TEXT PRIMARY KEY, version TEXT NOT NULL, cases BIGINT NOT NULL,
    first_seen BIGINT NOT NULL, last_seen BIGINT NOT NULL);
CREATE TABLE @coverage (name TEXT NOT NULL, cases BIGINT NOT NULL, seconds DOUBLE PRECISION NOT NULL,
    value DOUBLE PRECISION NOT NULL, PRIMARY KEY (name, cases));
CREATE TABLE @state (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE @ranges (first BIGINT PRIMARY KEY, number BIGINT NOT NULL, snapshot TEXT NOT NULL,
    owner TEXT NOT NULL, until DOUBLE PRECISION NOT NULL, done BIGINT NOT NULL);
