/** Kinds of events that are withheld from endpoints, because their owners may not read them now. */
import { type Kysely, sql } from 'kysely';
import type { Unsent } from './cancel-store.ts';

/** An endpoint of an API client. */
export type OwnedEndpoint = {
  uid: string;
  tenant: string;
  clientId: string;
  kinds: string[];
  withheldKinds: string[];
};

/** A page of the endpoints of these API clients, or of all, by uid, after `after`. */
export const listOwned = async (
  db: Kysely<unknown>,
  clients: readonly string[] | 'all',
  after: string,
  limit: number,
): Promise<OwnedEndpoint[]> => {
  const ofClients = clients === 'all' ? sql`` : sql`and owner_id = any(${clients}::text[])`;
  const { rows } = await sql<OwnedEndpoint>`
    select uid, tenant, owner_id as "clientId", kinds, withheld_kinds as "withheldKinds" from webhooks.endpoints
    where owner_kind = 'api_client' and removed is null ${ofClients} and uid > ${after}
    order by uid limit ${limit}`.execute(db);
  return rows;
};

/** `before`: what was stored when the change was decided. */
export type WithheldChange = { uid: string; before: readonly string[]; withheld: readonly string[] };

/**
 * Stores the withheld kinds. Where deliveries of them are unfinished, these are cancelled afterwards. Returns how many were
 * stored: an endpoint that has changed meanwhile is left as it is.
 */
export const saveWithheld = async (
  tx: Kysely<unknown>,
  changes: readonly WithheldChange[],
  now: Date,
): Promise<number> => {
  const { numAffectedRows } = await sql`
    with wanted as (
      select uid, string_to_array(before, ',') as before, string_to_array(withheld, ',') as withheld
      from unnest(${changes.map(({ uid }) => uid)}::text[], ${changes.map(({ before }) => before.join(','))}::text[],
        ${changes.map(({ withheld }) => withheld.join(','))}::text[]) as change (uid, before, withheld)
    ), locked as materialized (
      select endpoint.uid from webhooks.endpoints as endpoint join wanted on wanted.uid = endpoint.uid
      where removed is null and withheld_kinds = wanted.before
      order by tenant, endpoint.uid for no key update of endpoint
    )
    update webhooks.endpoints as endpoint set withheld_kinds = wanted.withheld,
      withheld_through = case when exists (
        select from webhooks.deliveries as delivery
        where delivery.endpoint_uid = endpoint.uid and delivery.kind = any(wanted.withheld)
          and delivery.state in ('pending', 'waiting')
      ) then ${now}::timestamptz end
    from wanted join locked on locked.uid = wanted.uid where endpoint.uid = wanted.uid`.execute(tx);
  return Number(numAffectedRows ?? 0n);
};

/** `through` distinguishes this cancelling from a later one. */
export type Withholding = { endpointUid: string; through: Date };

/** Endpoints whose withheld deliveries are being cancelled, after `after`. */
export const listWithholding = async (db: Kysely<unknown>, after: string, limit: number): Promise<Withholding[]> => {
  const { rows } = await sql<Withholding>`
    select uid as "endpointUid", withheld_through as through from webhooks.endpoints
    where withheld_through is not null and uid > ${after} order by uid limit ${limit}`.execute(db);
  return rows;
};

/**
 * Deliveries to cancel, without those whose attempt is in flight. The kinds are those of now: a delivery that was made after
 * a right came back is not among them.
 */
export const findWithheld = async (
  tx: Kysely<unknown>,
  { endpointUid }: Withholding,
  now: Date,
  limit: number,
): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select event_id as "eventId", uid, endpoint_uid as "endpointUid", kind, entity from webhooks.deliveries
    where endpoint_uid = ${endpointUid} and kind = any((select withheld_kinds from webhooks.endpoints
        where uid = ${endpointUid})::text[]) and state in ('pending', 'waiting')
      and (lease_until is null or lease_until <= ${now}) limit ${limit}`.execute(tx);
  return rows;
};

/** Lets the other kinds go on. */
export const endWithholding = async (db: Kysely<unknown>, { endpointUid, through }: Withholding): Promise<void> => {
  await sql`
    update webhooks.endpoints set withheld_through = null
    where uid = ${endpointUid} and withheld_through = ${through}`.execute(db);
};

/** Cancels again: an attempt that was in flight has failed, and its delivery is pending. */
export const beginWithholding = async (tx: Kysely<unknown>, uids: readonly string[], now: Date): Promise<void> => {
  await sql`
    with locked as materialized (
      select uid from webhooks.endpoints
      where uid = any(${uids}::text[]) and withheld_kinds <> '{}' and withheld_through is null
      order by tenant, uid for no key update
    )
    update webhooks.endpoints as endpoint set withheld_through = ${now} from locked where endpoint.uid = locked.uid`.execute(
    tx,
  );
};
