/** State that several processes share and that may be lost: counters of fixed windows, and messages to all processes. */

/** `used` units in the window that runs now; it ends in `msLeft`. */
export type Count = { used: number; msLeft: number };

export type WindowOptions = { name: string; quota: number; windowSeconds: number };

/** Counts units per key. A key's window opens with the first units that are added to it and ends by itself. */
export type WindowCounter = {
  /** Adds units, whatever the total becomes. */
  add(key: string, units: number): Promise<Count>;
  /** Adds units if the total stays within the quota, in one step; `used` is the total afterwards. */
  take(key: string, units: number): Promise<Count & { taken: boolean }>;
  /** Takes units off again; without a window nothing happens. */
  giveBack(key: string, units: number): Promise<void>;
};

export type KvHealth = 'local' | 'up' | 'down';

/** Every promise of a counter settles within milliseconds: with an answer, or with KvAway. */
export type Kv = {
  /** local: this process alone. down: other processes cannot be reached, so whoever counts does so by itself meanwhile. */
  health(): KvHealth;
  /** Keys must be bounded in number by who may cause them. */
  windows(options: WindowOptions): WindowCounter;
  /** To all processes, this one included. A message may get lost, and nobody waits for it. */
  publish(channel: string, message: string): void;
  /** Returns what ends it. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  close(): Promise<void>;
};

/** The shared state cannot be asked now. */
export class KvAway extends Error {
  constructor(cause?: unknown) {
    super('the shared state is not reachable', { cause });
    this.name = 'KvAway';
  }
}
