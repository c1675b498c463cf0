/** What the panel's area "support" calls, over the features. */
import type { SupportPorts } from '#src/panel/index.ts';
import type { PortDeps } from './panel.ts';

export const createSupportPorts = (_deps: PortDeps): SupportPorts => ({});
