/** What the ports of every area may use. */

import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';

export type PortDeps = {
  installation: Installation;
  settings: Settings;
  origin: string;
  /** Receivers of our own, which webhooks may go to whatever the rules say. */
  ownOrigins: readonly string[];
  /** To be called when the program stops. */
  onStop: (stop: () => Promise<void>) => void;
};
