-- Three roles for the campaigns of one database, each with what it needs and no more:
--
--   assay_owner    makes campaigns and brings them to new versions (`assay campaign init`); everything belongs to it
--   assay_worker   takes part in them (`assay fuzz --db`, `assay search --db`, `assay campaign stop` and `resume`)
--   assay_reader   looks at them (`assay campaign list`, `status`, `top`, `serve`, `export`)
--
-- An administrator runs it in the database of the campaigns, as often as wanted:
--
--     createdb assay
--     psql -d assay -f roles.sql
--
-- How the roles prove who they are is left to pg_hba.conf and \password; they can log in, and have no passwords here.
-- Campaigns that another role made: `REASSIGN OWNED BY that_role TO assay_owner`, and then this file again.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
DECLARE name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['assay_owner', 'assay_worker', 'assay_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', name);
        END IF;
    END LOOP;
END $$;
ALTER ROLE assay_reader SET default_transaction_read_only = on;

-- Nobody else gets in, and nobody but the owner makes anything in this database.
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT CONNECT ON DATABASE :"DBNAME" TO assay_owner, assay_worker, assay_reader;
GRANT CREATE ON DATABASE :"DBNAME" TO assay_owner;

-- The list of campaigns, as `assay campaign init` makes it: workers do not write to it.
CREATE SCHEMA IF NOT EXISTS assay AUTHORIZATION assay_owner;
CREATE TABLE IF NOT EXISTS assay.campaigns (name TEXT PRIMARY KEY, tables BIGINT NOT NULL, made BIGINT NOT NULL);
ALTER TABLE assay.campaigns OWNER TO assay_owner;

-- Campaigns that there will be, and those that there are.
ALTER DEFAULT PRIVILEGES FOR ROLE assay_owner GRANT USAGE ON SCHEMAS TO assay_worker, assay_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE assay_owner GRANT SELECT ON TABLES TO assay_worker, assay_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE assay_owner GRANT INSERT, UPDATE, DELETE ON TABLES TO assay_worker;
DO $$
DECLARE name TEXT;
BEGIN
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspowner = 'assay_owner'::regrole LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO assay_worker, assay_reader', name);
        EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO assay_worker, assay_reader', name);
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO assay_worker', name);
    END LOOP;
END $$;
REVOKE INSERT, UPDATE, DELETE ON assay.campaigns FROM assay_worker;
COMMIT;
