/** What the fuzzers share: a door whose limits are out of the way, raw bytes within a bound, runs that can be repeated. */
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect } from 'vitest';
import { bearer, openRfcHarness, type RfcHarness } from '../rfc/rfc-harness.ts';

export type FuzzHarness = RfcHarness & {
  /** A token that opens everything; the fuzzers must never find another way. */
  token: string;
  /** Requests that reached the upstream. */
  passed(): number;
  /**
   * A mark for the head of the next bytes. On a busy machine a request reaches the upstream after its sender has gone, or
   * after fast-check has left a run at its time limit. `seen` leaves out those with another mark.
   */
  mark(): { field: readonly [name: string, value: string]; line: string; seen(): RfcHarness['upstream']['seen'] };
  /** The proof that silence at the upstream was the gateway's doing: a good request comes through, and gets its own answer. */
  expectOpen(): Promise<void>;
};

export const openFuzzHarness = async (
  settings: Record<string, unknown> = {},
  perRoute?: Parameters<typeof openRfcHarness>[1],
): Promise<FuzzHarness> => {
  const harness = await openRfcHarness({ rate_failures_max: 1_000_000, ...settings }, perRoute);
  harness.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ success: true, target: req.url }));
  };
  const token = await harness.tokenOf(harness.client);
  let count = 0;
  let marks = 0;
  return {
    ...harness,
    token,
    passed: () => harness.upstream.seen.length,
    mark: () => {
      marks += 1;
      const [mark, before] = [String(marks), harness.upstream.seen.length];
      return {
        field: ['X-Fuzz-Mark', mark],
        line: `X-Fuzz-Mark: ${mark}`,
        seen: () =>
          harness.upstream.seen
            .slice(before)
            .filter(({ headers }) => [undefined, mark].includes(headers['x-fuzz-mark'] as string | undefined)),
      };
    },
    expectOpen: async () => {
      count += 1;
      const target = `/api/orders/list?control=${count}`;
      const reply = await harness.read({ ...bearer(token), 'x-fuzz-mark': 'control' }, target);
      expect([reply.status, reply.json?.target]).toEqual([200, target]);
    },
  };
};

const seed = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);
const times = Number(process.env.FUZZ_TIMES ?? 1);
/** A busy machine makes fewer runs, so that the folder stays within its time. */
const timeMsMax = 2_500;

/**
 * A failure names the seed and the shrunk example; FUZZ_SEED repeats a run, FUZZ_TIMES makes more and longer ones (which
 * need vitest's --testTimeout). The seed is another one each time.
 */
export const fuzz = async <T>(
  inputs: fc.Arbitrary<T>,
  property: (input: T) => Promise<void>,
  numRuns = 150,
): Promise<void> => {
  await fc.assert(fc.asyncProperty(inputs, property), {
    numRuns: Math.ceil(numRuns * times),
    ...(seed === undefined ? undefined : { seed }),
    interruptAfterTimeLimit: timeMsMax * times,
    markInterruptAsFailure: false,
  });
};

export type RawAnswer = {
  text: string;
  /** Of every answer on the connection, in turn. */
  statuses: number[];
};

/** Long enough for a busy machine; what takes longer hangs. */
const boundMs = 10_000;
/** For requests that are whole: to end them would be to go away before the answer. */
const answerWaitMs = 3_000;
/** For those that may lack their end, where no answer is demanded. */
export const shortWaitMs = 50;

/** Rejects when the server neither answers nor closes. The bytes are ended when the server waits for more of them. */
export const sendBytes = (port: number, bytes: Buffer | string, waitMs = answerWaitMs): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const whole = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(whole));
    let timer = setTimeout(() => socket.end(), waitMs);
    const bound = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(`no end within ${boundMs} ms after ${JSON.stringify(whole.toString('latin1').slice(0, 2_000))}`),
      );
    }, boundMs);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      clearTimeout(timer);
      timer = setTimeout(() => socket.end(), waitMs);
    });
    // The server may close before it has read all; what it said until then counts.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      clearTimeout(bound);
      const text = Buffer.concat(chunks).toString('latin1');
      // A body has no line end, so the next answer begins in its line.
      resolve({ text, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)) });
    });
  });

export const expectNoFault = (statuses: readonly number[]): void => {
  for (const status of statuses) expect(status).toBeLessThan(500);
};

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const heldBytes = (): number => {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** The first runs fill what is bounded (caches, pools, compiled code); the same again may add next to nothing. */
export const expectBoundedMemory = async (
  run: () => Promise<void>,
  growthBytesMax = 12 * 1024 * 1024,
): Promise<void> => {
  await run();
  const before = heldBytes();
  await run();
  expect(heldBytes() - before).toBeLessThan(growthBytesMax);
};

/** Any byte, those that parsers fall over more often. */
export const nastyByte: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, 1, 7, 8, 9, 0x0b, 0x0c, 0x1b, 0x7f, 0x85, 0xa0, 0xff, 0x22, 0x5c, 0x2c, 0x3d),
  },
  { weight: 1, arbitrary: fc.integer({ min: 0x80, max: 0xff }) },
);

/** Text of such bytes, one character each. Never a line end, which would make it another header. */
export const nastyText = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(nastyByte, { maxLength }).map((bytes) => String.fromCharCode(...bytes));

/** The same in lengths that only a repetition reaches. */
export const longText = (lengthMax: number): fc.Arbitrary<string> =>
  fc
    .tuple(nastyText(16), fc.integer({ min: 1, max: lengthMax }))
    .map(([piece, length]) => (piece === '' ? 'a' : piece).repeat(length).slice(0, length));
