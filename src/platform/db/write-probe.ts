/**
 * Checks that the database accepts writes. A database with a full disk still answers queries, so the probe writes a few
 * pages of a temporary table, which need room, and commits, which needs WAL. A commit that waits for a standby that is gone, or
 * for a disk that stalls, gets no answer at all, and the server goes on waiting after its client has left. So the probe cancels a
 * write that gets no answer, and starts no other one while the server still runs it: a process leaves one at most behind.
 */
import { type Kysely, sql } from 'kysely';
import { inTransaction } from './transaction.ts';

export type WriteProbe = () => Promise<'ok' | 'failing'>;

const okMs = 5_000;
/** A short time, so that the end of an outage shows soon. */
const failingMs = 1_000;
const answerMsMax = 1_500;
/** chosen: the write takes some milliseconds, and a second on a machine that has much other work. */
const writeMsMax = 5_000;

const probes = new WeakMap<Kysely<unknown>, WriteProbe>();

/**
 * Resolves within 1.5 s to a result of at most 5 s ago. A write that gets no answer in 5 s is failing until a later one succeeds.
 * Never rejects: an unreachable database is no matter of this probe. A process has one probe for a database, since each write
 * that hangs keeps a connection.
 */
export const createWriteProbe = (db: Kysely<unknown>): WriteProbe => {
  const known = probes.get(db);
  if (known !== undefined) return known;
  const probe = openProbe(db);
  probes.set(db, probe);
  return probe;
};

const openProbe = (db: Kysely<unknown>): WriteProbe => {
  let found: 'ok' | 'failing' = 'ok';
  let foundAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;
  let unanswered: StartedWrite | undefined;
  const find = (result: 'ok' | 'failing'): void => {
    found = result;
    foundAtMs = performance.now();
  };
  const ask = async (): Promise<void> => {
    if (unanswered !== undefined && (await cancel(db, unanswered))) return find('failing');
    unanswered = undefined;
    const onStart = (started: StartedWrite): void => {
      unanswered = started;
    };
    const onLate = (): void => {
      find('failing');
      if (unanswered !== undefined) void cancel(db, unanswered);
    };
    const result = await writeResult(db, { onStart, onLate });
    if (result === 'ok') unanswered = undefined;
    find(result);
  };
  return async () => {
    if (asking !== undefined || performance.now() - foundAtMs > (found === 'ok' ? okMs : failingMs)) {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await within(asking, answerMsMax);
    }
    return found;
  };
};

const within = (work: Promise<void>, msMax: number): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, msMax);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });

/** A transaction of the server: `since` has its microseconds, which a Date has not. */
type StartedWrite = { pid: number; since: string };

/**
 * Resolves to true while the server still runs the transaction. It writes nothing that lasts, so its commit may end without the
 * standby. The time of its start names it: its connection may have gone on to another transaction, which is not cancelled.
 */
const cancel = async (db: Kysely<unknown>, { pid, since }: StartedWrite): Promise<boolean> => {
  const found = sql`select pg_cancel_backend(pid) from pg_stat_activity
    where pid = ${pid} and extract(epoch from xact_start)::text = ${since}`;
  try {
    return (await found.execute(db)).rows.length > 0;
  } catch {
    // A store that cannot be asked takes no write either.
    return false;
  }
};

/** Rows that PostgreSQL stores in the page itself; larger ones would be compressed. */
const write = async (
  db: Kysely<unknown>,
  { onConnect, onStart }: { onConnect(): void; onStart(started: StartedWrite): void },
): Promise<void> =>
  inTransaction(db, async (tx) => {
    onConnect();
    const own = sql<StartedWrite>`select pg_backend_pid() as pid, extract(epoch from now())::text as since`;
    const [started] = (await own.execute(tx)).rows;
    if (started !== undefined) onStart(started);
    await sql`create temporary table orderpass_write_probe (filler text) on commit drop`.execute(tx);
    await sql`insert into orderpass_write_probe select repeat('x', 1900) from generate_series(1, 12)`.execute(tx);
  });

/** The time starts with the connection: waiting for a free one says nothing about writes. */
const writeResult = async (
  db: Kysely<unknown>,
  { onStart, onLate }: { onStart(started: StartedWrite): void; onLate(): void },
): Promise<'ok' | 'failing'> => {
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const onConnect = (): void => {
    timer ??= setTimeout(() => {
      isLate = true;
      onLate();
    }, writeMsMax);
  };
  try {
    await write(db, { onConnect, onStart });
    return isLate ? 'failing' : 'ok';
  } catch (error) {
    return isLate || isRefusal(error) ? 'failing' : 'ok';
  } finally {
    clearTimeout(timer);
  }
};

/** No room or no memory (class 53 except too many connections), an error of the disk, or a read-only server. */
const isRefusal = (error: unknown): boolean => {
  const code = String(Reflect.get(error as object, 'code'));
  return (/^53/.test(code) && code !== '53300') || code === '58030' || code === '25006';
};
