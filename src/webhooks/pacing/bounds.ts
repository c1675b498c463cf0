/**
 * The tuned numbers of the webhook engine in one place, each with the reason for its value.
 *
 * - "interface N.M" is a promise to callers and must not change alone.
 * - "measured" names the bench or test that shows the effect of the value.
 * - "chosen" is a judgement. Together the chosen numbers reach the goals of `npm run bench:webhooks` (0.6 of the rate of a bare
 *   loop that signs and posts, 20 ms from commit to arrival when idle); none of them was varied alone. After a change run
 *   that bench and `test/webhooks`.
 */
import { minuteMs } from '#src/platform/clock.ts';

/** What a worker keeps in memory per tenant or endpoint before it forgets the oldest or starts over. */
export const remembered = {
  /** chosen: far more tenants than one dispatcher meets in a minute; a forgotten one costs one more lookup. */
  tenantsMax: 10_000,
  /** chosen: as many endpoints as the test of 10,000 hanging receivers needs; a forgotten one starts with one slot again. */
  endpointsMax: 10_000,
} as const;

export const dispatching = {
  /** chosen: one batch stays far below the time in which the lock of the dispatcher would hold up a second worker. */
  batchMax: 200,
  /**
   * chosen: deliveries of one batch, each of which may lock its entity queue: the lock table of PostgreSQL has room for about
   * 7,700 locks of all transactions by default.
   */
  deliveriesMax: 2_000,
  /** chosen: while few deliveries find slots, the dispatcher reads few events, since it reads them again in the next batch. */
  batchMin: 32,
  /** chosen: after the last event the dispatcher polls so long by itself, so that the floors of its queues rise. */
  settleMs: 5_000,
  /** chosen: a commit that took longer used up a visible part of the lease, so the schedule gets an earlier look. */
  lateCommitMs: 1_000,
} as const;

/** The look for work that the loops of a worker share (`queue/look-store.ts`). */
export const looking = {
  /** chosen: hints wake the dispatcher and inserts the claims; a look covers lost hints and rows of other processes. */
  everyMs: 500,
  /** chosen: a loop polls by itself when the shared look is so late. Rights have to hold within a second (interface 12.4). */
  lateMs: 250,
  /** chosen: rights are read so often in any case, since some are due by a time, which no look sees. */
  rightsMs: 5_000,
  /** chosen: the same of redeliveries, whose loop removes secrets that have no effect any more. */
  removingMs: 30_000,
  /** chosen: the same of the dispatcher, whose floors rise meanwhile. */
  dispatchMs: 10_000,
} as const;

/** The fast path: how many deliveries it holds and how long the dispatcher waits for slots. */
export const fastPath = {
  /** chosen: three times the claimed deliveries held ahead, because these are held from before they are written. */
  aheadFactor: 48,
  /** chosen: ended attempts after which the dispatcher continues, since one large batch costs less than several small ones. */
  endedEnough: 128,
  /** chosen: milliseconds that the dispatcher may wait before any receiver proved that waiting pays. */
  startCreditMs: 60,
  /** chosen: longest credit, so that one stalled receiver holds later events up for a tenth of a second at most. */
  creditMsMax: 100,
  /** chosen: deliveries per millisecond above which waiting beats a claim, about the rate at which claims are written. */
  endedPerMs: 2.5,
  /** chosen: share of all time that may be spent waiting without a slot becoming free. */
  wastedShare: 0.03,
} as const;

/** The claim loop and the end of a worker. */
export const claiming = {
  /** chosen: pause between claims, since a claim of many deliveries costs about as much as a claim of one. */
  gapMs: 10,
  /** chosen: ended attempts after which the next claim starts before `gapMs` is over. */
  endedEnough: 64,
  /** chosen: longer than an attempt (15 s, interface 12.4) and its record can take, so that no lease ends under a live worker. */
  leaseMs: 23_000,
  /** chosen: a worker that was held up for longer after its claim might outlast its lease, so it returns the delivery. */
  startMsMax: 5_000,
  /** chosen: with `startMsMax` and the attempt it stays below the lease; failures that a sandbox asks for are found in milliseconds. */
  askedMsMax: 1_000,
  /** chosen: wait after a delivery could not be signed. Nothing was sent, so it does not count as an attempt. */
  unsignedRetryMs: 5_000,
  /** chosen: wait of a delivery that its receiver may not get any more, until it is cancelled. */
  withheldRetryMs: 1_000,
  /** chosen: how often an endpoint is looked at while its backlog is being cancelled. */
  cancellingLookMs: 1_000,
  /** chosen: how often a slow endpoint is looked at while others of its host or tenant hold as many slots as they may. */
  sharingLookMs: 2_000,
  /** chosen: an endpoint due for longer shows a flood; then the reserve serves endpoints that became due since. */
  floodMs: 500,
  /** chosen: as long as an attempt may take (15 s, interface 12.4) and some more: its answer decides for the held deliveries. */
  probeMs: 20_000,
  /** chosen: attempts that start in one turn of the event loop (held by `test/webhooks/pacing/early-release.test.ts`). */
  startsPerTurn: 8,
  /** chosen: time for attempts in flight at the end of a worker; its process ends within three seconds (`stopping.test.ts`). */
  drainMs: 2_000,
  /** chosen: then the leases of cut attempts are returned within this time. */
  returnLeasesMs: 500,
} as const;

/** Signing: ahead of the attempt in `deliver/sign-ahead.ts`, else with a thread in `signing/thread-signer.ts`. */
export const signing = {
  /**
   * chosen: deliveries of a batch that the main thread signs while the batch is committed. Of a larger batch there is other work to do
   * meanwhile. measured: `node test/bench/webhooks.ts latency` and `rate`.
   */
  aheadMax: 32,
  /** chosen: a signature that waited for longer is made anew, since receivers compare its time with theirs. */
  aheadSecondsMax: 1,
  /** chosen: below this a message costs the main thread as much as the signatures. */
  groupMin: 4,
  /** chosen: texts that wait for the thread; the main thread signs those beyond them. */
  waitingMax: 512,
  /** chosen: characters of a text; the main thread signs longer ones, so that a group fits into the memory of the thread. */
  textMax: 16_384,
  /** chosen: a thread that does not answer for so long is ended. */
  answerMs: 2_000,
  /** chosen: a thread that ends each time is not started more often. */
  restartMs: 10_000,
  /** chosen: texts live for milliseconds, so the thread needs little memory. */
  threadLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 32 },
} as const;

/** Slots: attempts in flight of one worker. */
export const slotting = {
  /** chosen: an answer after a second or more marks a slow receiver. */
  slowMs: 1_000,
  /** chosen: the least time an attempt keeps its slot while others wait for one. */
  shortMs: 50,
  /** chosen: slow slots per usual slot; each costs a socket and a body in memory. */
  slowFactor: 4,
  /** chosen: part of the slow slots that is kept for endpoints that are known as slow, as large as the reserve of usual slots. */
  keptSlowShare: 8,
  /** chosen: results that may wait to be written per usual slot before attempts keep their slots until then. */
  unwrittenFactor: 2,
  /** chosen: deliveries held ahead for a proven endpoint, per slot that it has while its answers take longer. */
  aheadFactor: 16,
  /** chosen: deliveries held ahead for all endpoints together, per slot; their bodies lie in memory. */
  aheadPerSlot: 4,
  /** measured: with this reserve 10,000 hanging receivers delay no other (`test/webhooks/pacing/slow-receivers.test.ts`). */
  reserveShare: 8,
  /** chosen: endpoints that never answered share at most this part of the slots. */
  unknownShare: 0.5,
} as const;

/**
 * Shares of hosts and tenants, in parts of the slots for slow receivers (`group-shares.ts`). chosen: a host that hangs leaves a quarter of
 * these slots, and a tenant whose hosts all hang an eighth, so attempts to others can still move to slow slots.
 */
export const sharing = {
  host: { leavesFrom: 1 / 4, leftByUsual: 1 / 2, leftBySlow: 1 / 4 },
  /** Of several hosts. One that hangs alone keeps its tenant below this. */
  tenant: { leavesFrom: 1 / 2, leftByUsual: 1 / 4, leftBySlow: 1 / 8 },
} as const;

/** Concurrency of one endpoint. */
export const concurrency = {
  /** chosen: attempts at once to an endpoint that answers late. */
  slowMax: 2,
  /** chosen: attempts at once to an endpoint whose answers take longer than `promptMs`. */
  busyMax: 8,
  /** chosen: an answer within this time shows that the receiver has capacity to spare. */
  promptMs: 100,
} as const;

/** Rate and breaker of one endpoint (interface 12.4). */
export const breaking = {
  /** interface 12.4: failures in a row after which the breaker holds an endpoint. */
  failuresToHold: 20,
  /** interface 12.4: no delivery is held longer than this beyond its time. */
  holdMsMax: 5 * minuteMs,
  /** chosen: first hold, doubled by each further failure. */
  firstHoldMs: 5_000,
  /** chosen: the receiver is tried once a minute at least. */
  longestHoldMs: 60_000,
  /** chosen: a rate is kept in whole milliseconds; one step covers at least this time, so that rounding stays below 10 %. */
  rateStepMs: 10,
} as const;

/** Access tokens for receivers, in `auth/access-tokens.ts`. */
export const authorizing = {
  /** chosen: time for a request for a token; a delivery fits into the rest of its attempt. */
  tokenMs: 5_000,
  /** chosen: a token is renewed so long before its end, or in its last quarter. */
  renewMs: 60_000,
  /** chosen: pause after a failed renewal, while the old token still serves. */
  retryMs: 5_000,
  /** chosen: how long a token without `expires_in` is used, and any other at most. */
  lifeMsDefault: 5 * minuteMs,
  lifeMsMax: 24 * 60 * minuteMs,
} as const;

/** Writing results, in `deliver/record.ts`. */
export const recording = {
  /** chosen: attempts in one transaction at most. */
  batchMax: 250,
  /** chosen: while attempts are in flight, a batch waits for so many results ... */
  batchEnough: 128,
  /** chosen: ... and no longer than this. */
  gatherMs: 5,
  /** chosen: pause before a batch is written again after the database failed. */
  retryMs: 500,
  /** chosen: the time of the last success of a healthy endpoint is at most this old; writing it each time costs an update. */
  successEveryMs: 1_000,
} as const;

/** The schedule of endpoints, in `queue/schedule-store.ts`. */
export const scheduling = {
  /** chosen: longest time until an endpoint with deliveries in flight is looked at, so deliveries of a dead worker wait no longer. */
  lookMs: 4_000,
} as const;

/** Heartbeats of workers, in `deliver/worker-identity.ts`. */
export const heartbeats = {
  /** chosen: several heartbeats fit into `sendMs`, so that one lost message cuts nothing. */
  everyMs: 500,
  /** chosen: a worker that was not confirmed for so long starts no attempt and cuts those in flight. */
  sendMs: 2_500,
  /**
   * chosen: `sendMs` and a second for a late timer and for what a crash of the server forgets. measured: deliveries of a killed
   * worker go out again after about 4 s (`test/webhooks/deliver/crash-recovery.test.ts`).
   */
  deadMs: 3_500,
  /** chosen: a worker that has been silent for so long has no lease left; its row is removed. */
  forgottenMs: 10 * minuteMs,
  /** chosen: pause before a new session after the last one was lost. */
  reconnectMs: 250,
  /** chosen: deliveries of one endpoint searched for leases of a dead worker; leased ones are among the first due. */
  searchedMax: 2_000,
} as const;
