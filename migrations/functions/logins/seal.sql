-- The password of an employee is sealed with a worker's public key in the statement that gives it.
-- The worker that sends the password opens it. The sealed text is wiped with the answer, and
-- dropped after a quarter of an hour in any case.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto') THEN
    CREATE EXTENSION pgcrypto SCHEMA sync;
  END IF;
EXCEPTION
  WHEN OTHERS THEN
    RAISE WARNING 'the extension pgcrypto was not made (%): without it no password of an employee '
      'can be set; let somebody who may run CREATE EXTENSION pgcrypto', SQLERRM;
END $$;

-- Seals a text with the latest public key of a worker, by pgcrypto; the schema of pgcrypto is
-- looked up.
-- @returns null where pgcrypto is missing
CREATE OR REPLACE FUNCTION sync.seal_login(secret text, public_key bytea) RETURNS bytea
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  place text := (SELECT extnamespace::regnamespace::text FROM pg_extension
    WHERE extname = 'pgcrypto');
  sealed bytea;
BEGIN
  IF place IS NOT NULL THEN
    EXECUTE format('SELECT %s.pgp_pub_encrypt_bytea($1, $2, ''cipher-algo=aes256, '
      'compress-algo=0'')', place)
       INTO sealed USING convert_to(secret, 'UTF8'), public_key;
  END IF;
  RETURN sealed;
END
$$;
COMMENT ON FUNCTION sync.seal_login
  IS 'Seals a text for who has the other half of a key; null without pgcrypto.';
