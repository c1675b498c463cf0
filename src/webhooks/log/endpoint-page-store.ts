/** Endpoints of a tenant or of a client for the panel, page by page by keyset. Reads only. */
import { type Kysely, sql } from 'kysely';
import { visibleTo, type WatchedEndpoint, watched } from '../endpoints/endpoint-store.ts';

/** Newest first, because uids begin with the time. */
export const listEndpointPage = async (
  db: Kysely<unknown>,
  { tenant, after, limit }: { tenant: string; after: string | undefined; limit: number },
): Promise<WatchedEndpoint[]> => {
  const { rows } = await sql<WatchedEndpoint>`
    select ${watched} where ${visibleTo({ tenant, client: undefined })}
      ${after === undefined ? sql`` : sql`and endpoint.uid < ${after}`}
    order by endpoint.uid desc limit ${limit}`.execute(db);
  return rows;
};

const ofClient = (clientId: string) => sql`
  endpoint.owner_kind = 'api_client' and endpoint.owner_id = ${clientId} and endpoint.removed is null`;

/** Those that a client made, for any tenant; newest first. */
export const listEndpointsOfClient = async (
  db: Kysely<unknown>,
  { clientId, after, limit }: { clientId: string; after: string | undefined; limit: number },
): Promise<WatchedEndpoint[]> => {
  const { rows } = await sql<WatchedEndpoint>`
    select ${watched} where ${ofClient(clientId)} ${after === undefined ? sql`` : sql`and endpoint.uid < ${after}`}
    order by endpoint.uid desc limit ${limit}`.execute(db);
  return rows;
};

export const findEndpointOfClient = async (
  db: Kysely<unknown>,
  clientId: string,
  uid: string,
): Promise<WatchedEndpoint | undefined> => {
  const { rows } = await sql<WatchedEndpoint>`
    select ${watched} where ${ofClient(clientId)} and endpoint.uid = ${uid}`.execute(db);
  return rows[0];
};
