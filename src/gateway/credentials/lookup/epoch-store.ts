/**
 * The epoch identifies a state of all credentials, and of all revoked tokens: a number and a random mark, both renewed
 * in the transaction of each change. The number sequences the changes: a process that reads number n sees every change
 * up to n. The mark distinguishes two changes with the same number, because a restored or failed-over store repeats
 * numbers.
 *
 * The feed holds the last changes of credentials: which of them changed, and the mark before. A process that knows one
 * state reads what changed since (change-feed.ts).
 */
import { type Kysely, sql } from 'kysely';
import type { PoolClient } from 'pg';
import { hintAfterCommit } from '#src/platform/db/transaction.ts';

export type Epoch = {
  credentials: EpochPart;
  /** Raised by the revocation of a single token, which changes nothing else. */
  tokens: EpochPart;
  /** Identifies the database and the server process. It differs after a restart, a failover or a new database. */
  store: string;
};

export type EpochPart = { epoch: number; mark: string };

/** A state of all credentials in one store. */
export type CredentialState = EpochPart & { store: string };

/** Ids of keys and clients; `all`: any of them may have changed. */
export type ChangedCredentials = readonly string[] | 'all';

/** The state after a change, and what it changed. */
export type FedChange = EpochPart & {
  markBefore: string;
  credentials: ChangedCredentials;
  /** Undefined for a change that revoked nothing. */
  revokedAtMs: number | undefined;
};

/** `changes`: later ones than the number for which the reading asked, in their sequence; the first 1,000 of them. */
export type EpochReading = Epoch & { changes: readonly FedChange[] };

const channel = 'gateway_credentials';

/** chosen: a process that is further behind forgets everything, which costs it less than so many rows. */
const changesKept = 1_000;

/**
 * Raises the epoch of the credentials and adds the change to the feed, of which it deletes what is too old. Call it last in
 * the transaction, because it locks the row; the hint is sent after the commit. `revokedAt`: undefined for a change that
 * revokes nothing.
 */
export const raiseEpoch = async (
  tx: Kysely<unknown>,
  credentials: ChangedCredentials,
  revokedAt?: Date,
): Promise<void> => {
  const ids = credentials === 'all' ? null : credentials;
  // A restored epoch repeats numbers whose rows may be there still.
  await sql`
    with held as materialized (
      select epoch, mark from gateway.credential_epoch for update
    ), raised as (
      update gateway.credential_epoch set epoch = held.epoch + 1, mark = gen_random_uuid() from held
      returning credential_epoch.epoch, credential_epoch.mark, held.mark as mark_before
    ), trimmed as (
      delete from gateway.credential_feed where number <= (select epoch from raised) - ${changesKept}
    )
    insert into gateway.credential_feed (number, mark, mark_before, credentials, revoked_at)
    select epoch, mark, mark_before, ${ids}::text[], ${revokedAt ?? null}::timestamptz from raised
    on conflict (number) do update set mark = excluded.mark, mark_before = excluded.mark_before,
      credentials = excluded.credentials, revoked_at = excluded.revoked_at`.execute(tx);
  hintAfterCommit(tx, channel);
};

/** Keeps other transactions from raising a number until this one ends. */
export const lockEpoch = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`select 1 from gateway.credential_epoch for update`.execute(tx);
};

/** Returns the new state. Rows inserted with it in this transaction become visible in the sequence of the numbers. */
export const raiseTokenEpoch = async (tx: Kysely<unknown>): Promise<EpochPart> => {
  const { rows } = await sql<EpochPart>`
    update gateway.credential_epoch set token_epoch = token_epoch + 1, token_mark = gen_random_uuid()
    returning token_epoch as epoch, token_mark as mark`.execute(tx);
  hintAfterCommit(tx, channel);
  return firstOf(rows);
};

const storeText = `concat_ws(' ', (select oid from pg_database where datname = current_database()),
  extract(epoch from pg_postmaster_start_time()))`;

export type StateColumns = { state_epoch: number; state_mark: string; state_store: string };

/** The state of all credentials, for a statement that reads `gateway.credential_epoch` as `e`. */
export const stateColumns = sql`e.epoch as state_epoch, e.mark as state_mark, ${sql.raw(storeText)} as state_store`;

export const stateOf = ({ state_epoch, state_mark, state_store }: StateColumns): CredentialState => ({
  epoch: state_epoch,
  mark: state_mark,
  store: state_store,
});

/** For a statement that reads other things: a text that differs after every change of a credential. */
export const credentialVersion = sql<string>`
  (select concat_ws(' ', e.epoch, e.mark, ${sql.raw(storeText)}) from gateway.credential_epoch e)`;

export const isSameState = (one: EpochPart, other: EpochPart): boolean =>
  one.epoch === other.epoch && one.mark === other.mark;

const epochColumns = `e.epoch, e.mark, e.token_epoch, e.token_mark, ${storeText} as store`;

type EpochRow = { epoch: number; mark: string; token_epoch: number; token_mark: string; store: string };

export const readEpoch = async (db: Kysely<unknown>): Promise<Epoch> => {
  const { rows } = await sql<EpochRow>`select ${sql.raw(epochColumns)} from gateway.credential_epoch e`.execute(db);
  return epochOf(firstOf(rows));
};

/** One statement, so that epoch and changes are of one snapshot. The number before which nothing is read comes between. */
const changesText = [
  `select ${epochColumns}, f.number as change_number, f.mark as change_mark, f.mark_before, f.credentials, f.revoked_at
   from gateway.credential_epoch e left join gateway.credential_feed f on f.number <= e.epoch and f.number > `,
  `::bigint order by f.number limit ${changesKept}`,
] as const;

type FedRow = EpochRow &
  (
    | { change_number: null }
    | {
        change_number: number;
        change_mark: string;
        mark_before: string;
        credentials: string[] | null;
        revoked_at: Date | null;
      }
  );

/** `after`: number of a known epoch; undefined: no changes are wanted. */
export const readChanges = async (db: Kysely<unknown>, after: number | undefined): Promise<EpochReading> => {
  const [first, second] = changesText;
  return readingOf((await sql<FedRow>`${sql.raw(first)}${after ?? null}${sql.raw(second)}`.execute(db)).rows);
};

/** The same over a connection that the caller holds. `beside`: one more column of the same statement, a number. */
export const readChangesOn = async (
  client: PoolClient,
  after: number | undefined,
  beside = 'null',
): Promise<{ reading: EpochReading; beside: number | null }> => {
  const [first, second] = changesText;
  const text = `${first.replace('select ', `select ${beside} as beside, `)}$1${second}`;
  const { rows } = await client.query<FedRow & { beside: number | null }>(text, [after ?? null]);
  return { reading: readingOf(rows), beside: rows[0]?.beside ?? null };
};

export const listenOn = async (client: PoolClient): Promise<void> => {
  await client.query(`listen ${channel}`);
};

const readingOf = (rows: readonly FedRow[]): EpochReading => ({
  ...epochOf(firstOf(rows)),
  changes: rows.flatMap((row) =>
    row.change_number === null
      ? []
      : [
          {
            epoch: row.change_number,
            mark: row.change_mark,
            markBefore: row.mark_before,
            credentials: row.credentials ?? 'all',
            revokedAtMs: row.revoked_at?.getTime(),
          },
        ],
  ),
});

const epochOf = ({ epoch, mark, token_epoch, token_mark, store }: EpochRow): Epoch => ({
  credentials: { epoch, mark },
  tokens: { epoch: token_epoch, mark: token_mark },
  store,
});

const firstOf = <T>(rows: readonly T[]): T => {
  const row = rows[0];
  if (row === undefined) throw new Error('gateway.credential_epoch holds no row');
  return row;
};
