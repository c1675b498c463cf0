/** Endpoints of a tenant for the panel, page by page by keyset. Reads only. */
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
