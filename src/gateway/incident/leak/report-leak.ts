/** Ends a credential by its leaked value. The value is compared and forgotten; nothing stores or logs it. */
import { Fault } from '#src/contract/fault.ts';
import { createSemaphore } from '#src/platform/sharing/semaphore.ts';
import type { EndLeaked, LeakReport } from '../../credentials/change/end-leaked.ts';
import type { CredentialCache } from '../../credentials/lookup/cache.ts';
import type { FindLeaked } from './find-leaked.ts';

/** `known`: it had ended before. `unknown`: it was not issued here. */
export type LeakResult = 'ended' | 'known' | 'unknown';

/** Rejects with OVERLOADED. */
export type ReportLeak = (value: string, report: LeakReport) => Promise<LeakResult>;

type ReportLeakDeps = {
  find: FindLeaked;
  end: EndLeaked;
  credentials: Pick<CredentialCache, 'refresh'>;
  count: (result: LeakResult) => void;
};

/** chosen: reports leave most connections to the store to the requests of callers. */
const bounds = { atOnceMax: 4, waitingMax: 1_000, waitMsMax: 10_000 };

export const createReportLeak = ({ find, end, credentials, count }: ReportLeakDeps): ReportLeak => {
  const semaphore = createSemaphore(bounds);
  const endFound = async (value: string, report: LeakReport): Promise<LeakResult> => {
    const found = await find(value);
    if (found === undefined) return 'unknown';
    if (found === 'over') return 'known';
    const outcome = await end(found, report);
    // The change is committed. If this refresh fails, this process reads it later, as the others do.
    if (outcome === 'ended') await credentials.refresh().catch(() => undefined);
    return outcome;
  };
  return async (value, report) => {
    const release = await semaphore.acquire(never);
    if (release === undefined) throw new Fault('OVERLOADED', 'Too many reports wait; try again shortly');
    try {
      const result = await endFound(value, report);
      count(result);
      return result;
    } finally {
      release();
    }
  };
};

const never = new AbortController().signal;
