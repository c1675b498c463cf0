/** The problems that verification of the audit can find. Stored results hold these texts, so they never change. */
export const auditProblems = {
  chainMissing: 'the chain is missing',
  headSignature: 'the signature of its head is wrong',
  anchorSignature: 'the signature of its beginning is wrong',
  eventMissing: 'the event is missing',
  eventChanged: 'the event, or its place, was changed',
  eventNotSigned: 'the event is not the one that the head was signed for',
  endMissing: 'the end of the chain is missing, up to',
  eventsBehind: 'events stand behind the signed end of the chain',
  eventsBefore: 'events stand before the signed beginning of the chain',
  noHead: 'the chain has events, but no signed head',
  headReplaced: 'another signed head stands in the place of the newest one',
  notContinued: 'the event is not the one that stood here before',
  checkpointChanged: 'the file that keeps the heads beside the database was changed',
} as const;

export type AuditProblem = {
  chain: number;
  /** Number of the first event that is wrong or missing; null when the problem is the chain as a whole. */
  seq: number | null;
  problem: string;
};

export const isSameProblem = (a: AuditProblem, b: AuditProblem): boolean =>
  a.chain === b.chain && a.seq === b.seq && a.problem === b.problem;

export type AuditProblemKind = keyof typeof auditProblems;

/** The kind of a stored problem text; undefined for a text that is not in the list. */
export const kindOfAuditProblem = (text: string): AuditProblemKind | undefined =>
  (Object.keys(auditProblems) as AuditProblemKind[]).find((kind) => text.startsWith(auditProblems[kind]));
