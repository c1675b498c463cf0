/** Shared state that may be lost: counters of fixed windows, leases, and messages to all processes. */

/** `used` units in the current window, which ends in `msLeft`. */
export type Count = { used: number; msLeft: number };

export type WindowOptions = { name: string; quota: number; windowSeconds: number };

/**
 * Called before KvAway where the question was sent and only its answer is late: units may have been counted all the same.
 * `answer` rejects when the question failed; whether it was counted is not known then.
 */
export type Late<T> = (answer: Promise<T>) => void;

/** Counts units per key. The window of a key opens with its first units and ends by itself. */
export type WindowCounter = {
  /** Adds units, whatever the total becomes. */
  add(key: string, units: number, late?: Late<Count>): Promise<Count>;
  /** Adds units if the total stays within the quota, in one step; `used` is the total afterwards. */
  take(key: string, units: number, late?: Late<Count & { taken: boolean }>): Promise<Count & { taken: boolean }>;
  /** Takes units off again; without a window it does nothing. */
  release(key: string, units: number, late?: Late<void>): Promise<void>;
};

/**
 * Slots of a key that expire `leaseMs` after they were taken or renewed, so that a process that was killed frees its slots.
 * A `holder` is unique among all processes.
 */
export type Leases = {
  /** Takes a slot if fewer than `max` are held. */
  take(key: string, holder: string, max: number): Promise<boolean>;
  /** Holds these slots for another `leaseMs`, also those that had expired or were taken while the state was away. */
  renew(key: string, holders: readonly string[]): Promise<void>;
  release(key: string, holder: string): Promise<void>;
};

export type KvHealth = 'local' | 'up' | 'down';

/** Every promise of a counter or a lease settles within milliseconds: with an answer, or with KvAway. */
export type Kv = {
  /** local: this process alone. down: other processes cannot be reached, so each process counts alone meanwhile. */
  health(): KvHealth;
  /** How many processes count together. Undefined: one, or it is not known. */
  sharers?: number;
  /** The number of keys must be bounded by the number of possible callers. */
  windows(options: WindowOptions): WindowCounter;
  /** Missing: other processes cannot be reached. */
  leases?(options: { name: string; leaseMs: number }): Leases;
  /** Sends to all processes, this one included. A message may get lost; there is no acknowledgement. */
  publish(channel: string, message: string): void;
  /** Returns the function that ends the subscription. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  close(): Promise<void>;
};

/** The shared state is not reachable now. */
export class KvAway extends Error {
  constructor(cause?: unknown) {
    super('the shared state is not reachable', { cause });
    this.name = 'KvAway';
  }
}
