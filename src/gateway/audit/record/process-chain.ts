/**
 * The chain that one process writes alone. One statement writes the events and the signed head that covers them, and it
 * takes effect only while the stored head is the one that this process signed last. So a chain never holds unsigned
 * events, and a replaced head is noticed at the next write. The process then opens a new chain and does not continue
 * the old one.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import { inTransaction, isUniqueViolation } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { attestHeads } from '../chain/attest-heads.ts';
import { appendToChain, type ChainEnd, headLabel, signHead } from '../chain/chain.ts';
import { findChain, replaceHead } from '../chain/chain-store.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { type ChainRow, ensurePartition, insertSigned, lockChains } from '../chain/event-store.ts';
import { openExternalHeads } from '../chain/external-heads.ts';
import { openChain } from '../chain/open-chain.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { recordProblem } from '../chain/record-problem.ts';
import type { AuditEvent } from '../event/event.ts';

export type ProcessChain = {
  /** Writes all events once, or none. When it rejects, call it again with the same events before the next batch. */
  append(events: readonly (AuditEvent & { ids_indexed?: boolean })[]): Promise<void>;
  /** Signs the head anew: it shows that this process is alive, and it attests the heads of other chains. */
  sign(closed: boolean): Promise<void>;
};

export type ProcessChainDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  process: string;
};

export const openProcessChain = async (deps: ProcessChainDeps): Promise<ProcessChain> => {
  const { db, box, clock, log } = deps;
  const external = openExternalHeads(box);
  const key = box.derive(headLabel);
  const inTime = createInTime();
  const open = (problem: AuditProblem | undefined): Promise<ChainRow> => openNext(deps, problem);
  let row = await open(undefined);

  /**
   * Finds out why a signature had no effect. True: it had, and only the answer of the store was lost. In any case `row`
   * is now the head from which the next attempt or batch continues.
   */
  const isWritten = async (tried: ChainRow): Promise<boolean> => {
    const found = await inTime(findChain(db, row.chain));
    if (found?.mac.equals(tried.mac)) {
      row = tried;
      return true;
    }
    if (found?.closed && tried.seq > row.seq && isSameEnd(found, tried) && checkSignatures(key, found) === undefined) {
      // The store took the events, and another process closed the chain before this one could ask for the lost answer.
      row = await open(undefined);
      return true;
    }
    const problem = found === undefined ? missing(row.chain) : findProblem(key, row, found);
    if (found !== undefined && problem === undefined && !found.closed) {
      // An earlier attempt was signed, and its answer was lost. The attested heads stay as they were.
      const head = { ...row, signed: clock.now() };
      const mac = signHead(key, head);
      if (await inTime(replaceHead(db, head, mac, found.mac))) row = { ...head, mac };
      return false;
    }
    // Another process may have closed the chain because this one was silent for long: that is no problem.
    if (problem !== undefined) log.error(problem, 'the audit chain of this process was changed; opening a new one');
    row = await open(problem);
    return false;
  };

  const append = async (events: readonly (AuditEvent & { ids_indexed?: boolean })[]): Promise<void> => {
    for (;;) {
      const appended = appendToChain(row.chain, row, events);
      // Each attempt signs the same time, so an attempt whose answer was lost is recognised by its signature.
      const head = { ...row, ...appended.end, signed: events.at(-1)?.at ?? row.signed };
      const mac = signHead(key, head);
      const insert = insertSigned(db, appended.events, head, mac, row.mac);
      const written = await inTime(insert).catch((error: unknown) => {
        // The number of the next event is taken by an event that this process did not write.
        if (!isUniqueViolation(error)) throw error;
        return occupied;
      });
      if (written === occupied) {
        const problem = { chain: row.chain, seq: row.seq + 1, problem: auditProblems.eventsBehind };
        log.error(problem, 'the audit chain of this process was changed; opening a new one');
        row = await open(problem);
        continue;
      }
      const { chain } = row;
      const signed = { ...head, mac };
      if (written) row = signed;
      else if (!(await isWritten(signed))) continue;
      external.note(chain, appended.end);
      return;
    }
  };

  const sign = async (closed: boolean): Promise<void> => {
    for (let attempt = 0; attempt < signAttemptsMax; attempt += 1) {
      const head = { ...row, closed, signed: clock.now(), seen: await inTime(attestHeads(db, key, row.seen)) };
      const mac = signHead(key, head);
      const signed = { ...head, mac };
      if (await inTime(replaceHead(db, head, mac, row.mac))) row = signed;
      else if (!(await isWritten(signed))) continue;
      return;
    }
  };

  // Both start from the same head, so they run one after the other.
  const oneByOne = createTurns();
  return { append: (events) => oneByOne(() => append(events)), sign: (closed) => oneByOne(() => sign(closed)) };
};

const createTurns = (): ((work: () => Promise<void>) => Promise<void>) => {
  let running: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = running.then(work, work);
    running = done.catch(() => undefined);
    return done;
  };
};

/** chosen: less than a request waits for its event, so that it is written over another connection meanwhile. */
const answerMsMax = 1_000;

/**
 * A connection that is gone without a word answers nothing until it is closed, and no event of the process would be written for so long.
 * So a late statement rejects, and the next one takes another connection. From then on statements are waited for as long as they take,
 * until one is answered in time again: a store that is slow would otherwise write nothing. A late statement that the store still
 * carries out replaces a head that is no more, or is found as a lost answer.
 */
const createInTime = (): (<T>(statement: Promise<T>) => Promise<T>) => {
  let isLate = false;
  return async (statement) => {
    const startedMs = performance.now();
    try {
      return await (isLate ? statement : answerInTime(statement, answerMsMax));
    } finally {
      // A timer may end a fraction of a millisecond before its time.
      isLate = performance.now() - startedMs >= answerMsMax - 1;
    }
  };
};

const signAttemptsMax = 3;
const occupied = 'occupied';

const isSameEnd = (one: ChainEnd, other: ChainEnd): boolean => one.seq === other.seq && one.hash === other.hash;

const missing = (chain: number): AuditProblem => ({ chain, seq: null, problem: auditProblems.chainMissing });

/** Opens a chain for the process. `problem`: of its last one, which is recorded. */
const openNext = (
  { db, box, clock, process }: ProcessChainDeps,
  problem: AuditProblem | undefined,
): Promise<ChainRow> =>
  inTransaction(db, async (tx) => {
    await ensurePartition(tx, clock.now());
    await lockChains(tx);
    if (problem !== undefined) await recordProblem(tx, box, clock.now(), problem);
    return openChain(tx, box, { now: clock.now(), process });
  });

/** `found`: the stored head, which is not `row`, the head that was signed last. */
const findProblem = (key: Buffer, row: ChainRow, found: ChainRow): AuditProblem | undefined => {
  const signature = checkSignatures(key, found);
  if (signature !== undefined) return signature;
  if (isSameEnd(found, row)) return undefined;
  return { chain: row.chain, seq: Math.min(found.seq, row.seq) + 1, problem: auditProblems.headReplaced };
};
