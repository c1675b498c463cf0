/** What a role runs. */
import type { Settings } from './config.ts';

export const runsGateway = ({ role }: Pick<Settings, 'role'>): boolean => role === 'all' || role === 'gateway';
export const runsOrdering = ({ role }: Pick<Settings, 'role'>): boolean => role === 'all' || role === 'ordering';

export const runsWorker = ({ role }: Pick<Settings, 'role'>): boolean => role === 'all' || role === 'worker';

/** Roles without the core listen internally only for /metrics and probes, and only when a port is set. */
export const hasInternal = (settings: Pick<Settings, 'role' | 'internal_port'>): boolean =>
  runsOrdering(settings) || settings.internal_port !== 0;
