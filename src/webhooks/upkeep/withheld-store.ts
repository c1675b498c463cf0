/** Kinds of events that are withheld from endpoints, because their owners may not read them now. */
import { type Kysely, sql } from 'kysely';

/** An endpoint of an API client. */
export type OwnedEndpoint = {
  uid: string;
  tenant: string;
  clientId: string;
  kinds: string[];
  withheldKinds: string[];
};

/** A page of the endpoints of API clients, by uid, after `after`. */
export const listOwned = async (db: Kysely<unknown>, after: string, limit: number): Promise<OwnedEndpoint[]> => {
  const { rows } = await sql<OwnedEndpoint>`
    select uid, tenant, owner_id as "clientId", kinds, withheld_kinds as "withheldKinds" from webhooks.endpoints
    where owner_kind = 'api_client' and removed is null and uid > ${after} order by uid limit ${limit}`.execute(db);
  return rows;
};

/**
 * Stores the withheld kinds. Where some are new, the unfinished deliveries of these kinds are cancelled afterwards
 * (`cancel-backlog.ts`), and nothing is sent to the endpoint until that is done. Returns false when the endpoint has
 * changed meanwhile, or is still being cancelled for another reason: then the caller tries again later.
 */
export const saveWithheld = async (
  tx: Kysely<unknown>,
  { uid, kinds, withheldKinds: before }: OwnedEndpoint,
  withheld: readonly string[],
  now: Date,
): Promise<boolean> => {
  const isMore = withheld.some((kind) => !before.includes(kind));
  // A digest is about all kinds: it is withheld with the last one.
  const cancelled = withheld.length === kinds.length ? null : withheld;
  const { numAffectedRows } = await sql`
    update webhooks.endpoints set withheld_kinds = ${withheld}::text[],
      cancel_through = case when ${isMore} and enabled then ${now}::timestamptz else cancel_through end,
      cancel_kinds = case when ${isMore} and enabled then ${cancelled}::text[] else cancel_kinds end
    where uid = ${uid} and removed is null and kinds = ${kinds}::text[] and withheld_kinds = ${before}::text[]
      and (${!isMore} or not enabled or cancel_through is null)`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
};
