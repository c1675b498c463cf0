/** What the panel's area "security" calls, over the features. */
import type { SecurityPorts } from '#src/panel/index.ts';
import type { PortDeps } from './panel.ts';

export const createSecurityPorts = (_deps: PortDeps): SecurityPorts => ({});
