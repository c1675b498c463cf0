/**
 * API keys and clients of the restaurants, four keys to each client, with their use; and receipts of requests of the last
 * two days. The digests are random: no value belongs to them, and no request presents one.
 */
import type pg from 'pg';
import { otherUid } from './fill.ts';
import type { Size } from './size.ts';

const keysOfClient = 4;

const random32 = `sha256((random()::text || clock_timestamp()::text)::bytea)`;

export const fillCredentials = async (client: pg.PoolClient, size: Size): Promise<void> => {
  const { credentials, restaurants, orders } = size;
  const clients = Math.floor(credentials / (keysOfClient + 1));
  const keys = credentials - clients;
  const shop = otherUid(`number % ${restaurants - 1} + 1`);
  const [keyId, clientId] = [`'opk_' || lpad(number::text, 16, '0')`, `'opc_' || lpad(number::text, 16, '0')`];
  await client.query(
    `insert into gateway.api_keys (tenant, key_id, name, digest, created)
       select ${shop}, ${keyId}, 'Till ' || number, ${random32}, now() - make_interval(mins => number)
       from generate_series(1, ${keys}) as number;
     insert into gateway.clients (client_id, name, created)
       select ${clientId}, 'Client ' || number, now() - make_interval(mins => number) from generate_series(1, ${clients}) as number;
     insert into gateway.client_secrets (secret_id, client_id, digest, created)
       select 'ops_' || lpad(number::text, 16, '0'), ${clientId}, ${random32}, now() from generate_series(1, ${clients}) as number;
     insert into gateway.client_tenants (tenant, client_id, granted_at)
       select distinct ${otherUid(`(number * 7 + grants * 13) % ${restaurants - 1} + 1`)}, ${clientId}, now()
       from generate_series(1, ${clients}) as number, generate_series(0, 2) as grants;
     insert into gateway.credential_changes (kind, credential, state, reason, actor, at)
       select 'api_key', key_id, 'active', 'created', 'panel', created from gateway.api_keys where key_id like 'opk_00%';
     insert into gateway.credential_use (credential, last_used, last_address)
       select key_id, now() - make_interval(secs => random() * 86400), '198.51.100.7' from gateway.api_keys
       where key_id like 'opk_00%'
       union all select client_id, now() - make_interval(secs => random() * 86400), '198.51.100.8' from gateway.clients
       where client_id like 'opc_00%';
     insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere)
       select key_id, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - make_interval(days => days), 100, 100, 0, 0
       from gateway.api_keys, generate_series(0, 6) as days where key_id like 'opk_00%';
     insert into platform.receipts (owner, key, request_hash, status, body, headers, expires)
       select 'opc_' || number % 1000, md5(number::text), ${random32}, 200, repeat('x', 500), '{}',
         now() + make_interval(secs => random() * 172800)
       from generate_series(1, ${Math.round(orders / 50)}) as number`,
  );
};
