/** Redeliveries of a span of time in PostgreSQL: how far each has come through the recorded events. */
import { type Kysely, sql } from 'kysely';

export type Redelivery = {
  tenant: string;
  uid: string;
  endpointUid: string;
  since: Date;
  until: Date | null;
  /** Those that succeeded too. */
  everything: boolean;
  /** Places in the feed: looked at up to here, and the last one to look at. */
  afterPlace: number;
  lastPlace: number;
  queued: number;
  state: 'running' | 'done';
  created: Date;
};

/** False: one of this endpoint is running. */
export const insertRedelivery = async (tx: Kysely<unknown>, row: Redelivery): Promise<boolean> => {
  const result = await sql`
    insert into webhooks.redeliveries (tenant, uid, endpoint_uid, since, until, everything, after_position, last_position,
      queued, state, created, touched)
    values (${row.tenant}, ${row.uid}, ${row.endpointUid}, ${row.since}, ${row.until}, ${row.everything},
      ${row.afterPlace}, ${row.lastPlace}, ${row.queued}, ${row.state}, ${row.created}, ${row.created})
    on conflict (endpoint_uid) where state = 'running' do nothing`.execute(tx);
  return (result.numAffectedRows ?? 0n) > 0n;
};

/** The one that waits for longest and that nobody works at; nobody else gets it until the transaction ends. */
export const claimRedelivery = async (tx: Kysely<unknown>): Promise<Redelivery | undefined> => {
  const { rows } = await sql<Redelivery>`
    select tenant, uid, endpoint_uid as "endpointUid", since, until, everything, after_position as "afterPlace",
      last_position as "lastPlace", queued, state, created
    from webhooks.redeliveries where state = 'running' order by touched, uid limit 1 for update skip locked`.execute(
    tx,
  );
  return rows[0];
};

export const saveProgress = async (tx: Kysely<unknown>, row: Redelivery, now: Date): Promise<void> => {
  await sql`
    update webhooks.redeliveries set after_position = ${row.afterPlace}, queued = ${row.queued}, state = ${row.state},
      touched = ${now}
    where uid = ${row.uid}`.execute(tx);
};
