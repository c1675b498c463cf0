/**
 * Passwords as argon2id (RFC 9106), keyed by the installation, so a stolen table alone allows no guessing. Hashing runs
 * in the thread pool. Concurrency and queue are limited, because the program's other work needs the same threads.
 */
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault } from '#src/contract/fault.ts';

export type PasswordHash = {
  hash(password: string): Promise<string>;
  /**
   * Without a stored hash it takes the same time and resolves to false, so the time does not reveal which accounts
   * exist.
   * `isKnown`: attempts from known browsers go first, because there may be many from unknown ones.
   */
  verify(password: string, stored: string | undefined, isKnown: boolean): Promise<boolean>;
};

/** OWASP's recommendation for argon2id. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const tagLength = 32;
const atOnceMax = 2;
const waitingMax = 32;

const derive = promisify(argon2);

/** `key`: 32 bytes. Both functions throw OVERLOADED when the queue is full. */
export const createPasswordHash = (key: Buffer): PasswordHash => {
  const run = createTurns();
  const tagOf = (
    password: string,
    salt: Buffer,
    { memory, passes, parallelism }: typeof cost,
    isKnown: boolean,
  ): Promise<Buffer> =>
    run(isKnown, () =>
      // Two Unicode forms of the same letter are the same password (RFC 8265).
      derive('argon2id', {
        message: password.normalize('NFC'),
        nonce: salt,
        secret: key,
        tagLength,
        memory,
        passes,
        parallelism,
      }),
    );
  return {
    hash: async (password) => {
      const salt = randomBytes(saltBytes);
      return encode(salt, await tagOf(password, salt, cost, true));
    },
    verify: async (password, stored, isKnown) => {
      const found = stored === undefined ? undefined : decode(stored);
      const tag = await tagOf(password, found?.salt ?? Buffer.alloc(saltBytes), found?.cost ?? cost, isKnown);
      return found !== undefined && equalInConstantTime(found.tag, tag);
    },
  };
};

const createTurns = () => {
  let running = 0;
  const lines: Record<'known' | 'strangers', (() => void)[]> = { known: [], strangers: [] };
  return async <T>(isKnown: boolean, work: () => Promise<T>): Promise<T> => {
    if (running >= atOnceMax) {
      const line = isKnown ? lines.known : lines.strangers;
      if (line.length >= waitingMax) throw new Fault('OVERLOADED', 'Too many people are signing in right now');
      await new Promise<void>((resolve) => line.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // The slot passes directly to the next waiter, so a new attempt cannot take it first.
      const next = lines.known.shift() ?? lines.strangers.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
};

/**
 * The usual text form with its parameters, so that later versions can raise the cost:
 * `$argon2id$v=19$m=…,t=…,p=…$salt$tag`.
 */
const encode = (salt: Buffer, tag: Buffer): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${salt.toString('base64url')}$${tag.toString('base64url')}`;

const form = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([\w-]+)\$([\w-]+)$/;

const decode = (stored: string): { salt: Buffer; tag: Buffer; cost: typeof cost } | undefined => {
  const [, memory, passes, parallelism, salt, tag] = form.exec(stored) ?? [];
  if (salt === undefined || tag === undefined) return undefined;
  return {
    salt: Buffer.from(salt, 'base64url'),
    tag: Buffer.from(tag, 'base64url'),
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
  };
};
