/** Walks every chain from its signed beginning to its signed head and lists the events and heads that were changed. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { readAttestedHeads } from '../chain/attested-heads.ts';
import { type ChainEnd, changesChain, headLabel } from '../chain/chain.ts';
import { findChains, hasAuditedRows, hashesAt, listHeadless, placeKey } from '../chain/chain-store.ts';
import { checkKnown, checkSignatures, needsEvent } from '../chain/check-chain.ts';
import { type ChainRow, listChains } from '../chain/event-store.ts';
import { externalHeadsOf } from '../chain/external-heads.ts';
import { type AuditProblem, auditProblems, isSameProblem } from '../chain/problem.ts';
import { type Recorded, type Walked, walkChain } from './walk-chain.ts';

export type { AuditProblem } from '../chain/problem.ts';

export type VerifiedAudit = {
  chains: number;
  events: number;
  /** Ends of chains that this installation knew before, outside of the database. Without one, a removed end is not seen. */
  knownEnds: number;
  /** Events after the last signed head: their hashes are right, but their removal could not be detected. */
  unsigned: number;
  /** The problem with the lowest chain and event; null when there is none. */
  firstProblem: AuditProblem | null;
  /** At most 100. */
  problems: AuditProblem[];
};

const pageSizeDefault = 1_000;
const chainsPage = 200;
const problemsMax = 100;
const missingMax = 20;

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'> };

type OnPage = (events: number) => void | Promise<void>;

/**
 * Reads pages of `pageSize` events, and compares the ends that heads attest as soon as it holds 20,000, which bounds the memory.
 * `onProgress` is called and awaited after each page of either.
 */
export const verifyAudit = async (
  deps: Deps,
  onProgress: OnPage = () => undefined,
  pageSize = pageSizeDefault,
): Promise<VerifiedAudit> => {
  const { db, box } = deps;
  const key = box.derive(headLabel);
  const external = externalHeadsOf(box);
  external?.load();
  const problems = [...(external?.problems() ?? [])];
  // These ends are known before any chain is read, so no chain that is read later may end before them.
  const claims = collectClaims(db, key);
  for (const [chain, end] of external?.known() ?? []) claims.add({ chain, ...end });
  const recorded: Recorded[] = [];
  const found = { chains: 0, events: 0, unsigned: 0, knownEnds: claims.count() };
  const isInstalled = await hasAuditedRows(db);
  for (let after: number | undefined; ; ) {
    const rows = await listChains(db, after, chainsPage);
    for (const row of rows) {
      problems.push(...missingBetween(Math.max(after ?? -1, -1), row.chain));
      after = row.chain;
      found.chains += 1;
      const signature = checkSignatures(key, row);
      if (signature !== undefined) {
        problems.push(signature);
        continue;
      }
      for (const { chain, seq, hash = '' } of readAttestedHeads(row.seen)) claims.add({ chain, seq, hash });
      const progress = (events: number): void | Promise<void> => onProgress(found.events + events);
      const walked = await walkAgain({ db, key }, row, (from) => walkChain({ db, key }, from, pageSize, progress));
      found.events += walked.events;
      found.unsigned += walked.unsigned;
      problems.push(...walked.problems);
      recorded.push(...walked.recorded);
    }
    if (claims.count() >= claimsMax) await claims.compare(() => onProgress(found.events));
    if (rows.length < chainsPage) break;
  }
  if (isInstalled && found.chains === 0)
    problems.push({ chain: changesChain, seq: null, problem: auditProblems.chainMissing });
  await claims.compare(() => onProgress(found.events));
  problems.push(...longest(claims.contradictions));
  for (const { chain, seq } of await listHeadless(db, undefined, missingMax)) {
    problems.push({ chain, seq, problem: auditProblems.noHead });
  }
  // A recorded problem that is still visible is listed once.
  for (const { problem } of recorded) if (!problems.some((seen) => isSeenAs(problem, seen))) problems.push(problem);
  const all = distinct(problems);
  return { ...found, firstProblem: all[0] ?? null, problems: all.slice(0, problemsMax) };
};

/** Repeats a walk with problems when the retention moved the beginning of the chain meanwhile. */
const walkAgain = async (
  { db, key }: { db: Kysely<unknown>; key: Buffer },
  row: ChainRow,
  walk: (from: ChainRow) => Promise<Walked>,
): Promise<Walked> => {
  const walked = await walk(row);
  if (walked.problems.length === 0) return walked;
  const [again] = await findChains(db, [row.chain]);
  const moved = again !== undefined && again.anchorSeq !== row.anchorSeq && checkSignatures(key, again) === undefined;
  return moved ? walk(again) : walked;
};

const isSeenAs = (recorded: AuditProblem, seen: AuditProblem): boolean =>
  recorded.chain === seen.chain && recorded.seq === seen.seq && recorded.problem.startsWith(seen.problem);

const missingBetween = (after: number, chain: number): AuditProblem[] =>
  Array.from({ length: Math.min(missingMax, chain - after - 1) }, (_, index) => ({
    chain: after + 1 + index,
    seq: null,
    problem: auditProblems.chainMissing,
  }));

/** Each problem once, the lowest position first. */
const distinct = (problems: readonly AuditProblem[]): AuditProblem[] =>
  problems
    .filter((problem, index) => problems.findIndex((other) => isSameProblem(problem, other)) === index)
    .toSorted((a, b) => a.chain - b.chain || (a.seq ?? -1) - (b.seq ?? -1));

/** An end of a chain that another head or an external head states. `hash` may be cut or empty. */
type Claim = ChainEnd & { chain: number };

const claimsPage = 500;
/** A page of chains adds 20,000 at most. */
const claimsMax = 20_000;

/**
 * Holds each claim once, since most heads attest the same ends. `compare` reads the heads after the claims were made, and
 * forgets the claims.
 */
const collectClaims = (db: Kysely<unknown>, key: Buffer) => {
  const claims = new Map<string, Claim>();
  const contradictions: AuditProblem[] = [];
  return {
    contradictions,
    add: (claim: Claim): void => void claims.set(`${placeKey(claim.chain, claim.seq)} ${claim.hash}`, claim),
    count: (): number => claims.size,
    compare: async (onPage: () => void | Promise<void>): Promise<void> => {
      contradictions.push(...(await contradicted(db, key, [...claims.values()], onPage)));
      claims.clear();
    },
  };
};

const contradicted = async (
  db: Kysely<unknown>,
  key: Buffer,
  unique: readonly Claim[],
  onPage: () => void | Promise<void>,
): Promise<AuditProblem[]> => {
  const problems: AuditProblem[] = [];
  for (let i = 0; i < unique.length; i += claimsPage) {
    const page = unique.slice(i, i + claimsPage);
    // Hashes are read before the heads: events that the retention drops in between lie before the beginning read
    // afterwards.
    const hashes = await hashesAt(db, page);
    const heads = new Map(
      (
        await findChains(
          db,
          page.map(({ chain }) => chain),
        )
      ).map((row) => [row.chain, row]),
    );
    for (const claim of page) {
      const row = heads.get(claim.chain);
      if (row === undefined) problems.push({ chain: claim.chain, seq: null, problem: auditProblems.chainMissing });
      else if (checkSignatures(key, row) === undefined) problems.push(...compare(row, claim, hashes));
    }
    await onPage();
  }
  return problems;
};

const compare = (row: ChainRow, claim: Claim, hashes: ReadonlyMap<string, string>): AuditProblem[] => {
  const at = needsEvent(row, claim) ? (hashes.get(placeKey(claim.chain, claim.seq)) ?? '-') : undefined;
  const problem = checkKnown(row, claim, at);
  return problem === undefined ? [] : [problem];
};

/** Many heads may state ends of one cut-off chain: only the furthest end is listed. */
const longest = (problems: readonly AuditProblem[]): AuditProblem[] => {
  const best = new Map<string, AuditProblem>();
  for (const problem of problems) {
    const kind = `${problem.chain} ${problem.seq} ${isCutOff(problem) ? '' : problem.problem}`;
    const before = best.get(kind);
    if (before === undefined || reach(problem) > reach(before)) best.set(kind, problem);
  }
  return [...best.values()];
};

const isCutOff = ({ problem }: AuditProblem): boolean => problem.startsWith(auditProblems.endMissing);

const reach = (one: AuditProblem): number =>
  isCutOff(one) ? Number(one.problem.slice(auditProblems.endMissing.length)) : 0;
