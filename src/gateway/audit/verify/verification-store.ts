/** SQL of the verifications that users of the panel start, and of the list of signed heads. */
import { type Kysely, sql } from 'kysely';
import type { AuditProblem, VerifiedAudit } from './verify-audit.ts';

type Db = Kysely<unknown>;

export type VerificationRow = Omit<VerifiedAudit, 'firstProblem' | 'problems' | 'knownEnds'> & {
  id: number;
  actor: string;
  started: Date;
  touched: Date;
  finished: Date | null;
  problem: AuditProblem | null;
  /** Signature of the verdict, see verify-in-background.ts. */
  mac: Buffer | null;
};

/** Newest first. */
export const listVerifications = async (db: Db, limit: number): Promise<VerificationRow[]> => {
  const { rows } = await sql<
    Omit<VerificationRow, 'problem'> & {
      problem: string | null;
      problemChain: number | null;
      problemSeq: number | null;
    }
  >`
    select id, actor, started, touched, finished, chains, events, unsigned, mac, problem, problem_chain as "problemChain",
      problem_seq as "problemSeq"
    from gateway.audit_verifications order by id desc limit ${limit}`.execute(db);
  return rows.map(({ problem, problemChain, problemSeq, ...row }) => ({
    ...row,
    problem: problem === null || problemChain === null ? null : { chain: problemChain, seq: problemSeq, problem },
  }));
};

/** Held to the end of the transaction: of two simultaneous requests only one starts a verification. */
export const lockVerifications = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(hashtext('gateway.audit_verifications'))`.execute(tx);
};

const storedMax = 100;

export const insertVerification = async (tx: Db, actor: string, now: Date): Promise<number> => {
  const { rows } = await sql<{ id: number }>`
    insert into gateway.audit_verifications (actor, started, touched) values (${actor}, ${now}, ${now})
    returning id`.execute(tx);
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('the insert of a verification returned no id');
  await sql`delete from gateway.audit_verifications where id <= ${id - storedMax}`.execute(tx);
  return id;
};

export const touchVerification = async (db: Db, id: number, events: number, now: Date): Promise<void> => {
  await sql`update gateway.audit_verifications set touched = ${now}, events = ${events} where id = ${id}`.execute(db);
};

export const finishVerification = async (
  db: Db,
  id: number,
  found: VerifiedAudit,
  now: Date,
  mac: Buffer | null,
): Promise<void> => {
  const { chains, events, unsigned, firstProblem: problem } = found;
  await sql`
    update gateway.audit_verifications set touched = ${now}, finished = ${now}, chains = ${chains}, events = ${events},
      unsigned = ${unsigned}, problem = ${problem?.problem ?? null}, problem_chain = ${problem?.chain ?? null},
      problem_seq = ${problem?.seq ?? null}, mac = ${mac}
    where id = ${id}`.execute(db);
};

export type SignedHead = { chain: number; process: string; opened: Date; seq: number; signed: Date; closed: boolean };

/** Newest chain first. `before`: number of a chain. */
export const listHeads = async (
  db: Db,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<SignedHead[]> =>
  (
    await sql<SignedHead>`
      select chain, process, opened, seq, signed, closed from gateway.audit_chains
      where ${before === undefined ? sql`true` : sql`chain < ${before}`} order by chain desc limit ${limit}`.execute(db)
  ).rows;
