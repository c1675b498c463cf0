/** Endpoints that the program disabled, for notices. */
import { type Kysely, sql } from 'kysely';

export type DisabledEndpoint = { tenant: string; uid: string; origin: string; reason: 'gone' | 'failing'; at: Date };

/** Those that were disabled after `since`, the newest first, without the first `skip`. Deliveries that ran then may fail later and change nothing. */
export const listDisabled = async (
  db: Kysely<unknown>,
  since: Date,
  { limit, skip }: { limit: number; skip: number },
): Promise<DisabledEndpoint[]> => {
  const { rows } = await sql<{ tenant: string; uid: string; url: string; reason: 'gone' | 'failing'; at: Date }>`
    select e.tenant, e.uid, e.url, e.disabled_reason as reason, coalesce(e.disabled_at, h.last_failure) as at
    from webhooks.endpoints e join webhooks.endpoint_health h on h.endpoint_uid = e.uid
    where not e.enabled and e.removed is null and e.disabled_reason in ('gone', 'failing')
      and coalesce(e.disabled_at, h.last_failure) > ${since}
    order by at desc, e.uid limit ${limit} offset ${skip}`.execute(db);
  // The path of an address may hold a secret of the receiver.
  return rows.map(({ url, ...row }) => ({ ...row, origin: new URL(url).origin }));
};
