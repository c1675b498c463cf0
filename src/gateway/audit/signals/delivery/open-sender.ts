/** The services of a worker that bring security events to receivers. */

import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createSignalPush, type PushDeps } from './push.ts';
import { openSignalKeys } from './sign-set.ts';
import { createSignalUpkeep } from './upkeep.ts';

type SenderDeps = Omit<PushDeps, 'sign' | 'box'> & { box: Pick<SecretBox, 'seal' | 'open'> };

export const openSignalSender = async (deps: SenderDeps): Promise<Service[]> => {
  const { sign } = await openSignalKeys(deps);
  return [createSignalPush({ ...deps, sign }), createSignalUpkeep(deps)];
};
