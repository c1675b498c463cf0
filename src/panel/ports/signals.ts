/** The port of the pages about streams of security events. */
export type SignalStream = {
  id: string;
  clientId: string;
  clientName: string;
  delivery: 'push' | 'poll';
  endpointUrl: string | null;
  status: 'enabled' | 'paused' | 'disabled';
  /** Why it has this status. */
  reason: string | null;
  waiting: number;
  /** The last push that the receiver took. */
  pushedAt: Date | null;
  /** Of the last push that the receiver did not take, at `failedAt`. */
  lastError: string | null;
  failedAt: Date | null;
};

export type SignalPorts = {
  isOn: boolean;
  /** The first 500 streams after this id. */
  list(after?: string): Promise<readonly SignalStream[]>;
  find(id: string): Promise<SignalStream | undefined>;
  pause(actor: string, id: string, reason: string): Promise<void>;
  resume(actor: string, id: string): Promise<void>;
};
