/** Completes the sent members of an element and lists the changes. Pure. */
import { canonicalJson } from '#src/platform/http/json.ts';
import type { Members } from '../elements/members.ts';
import type { FieldChange, Findings } from '../report/report.ts';

type Sent<T> = { pointer: string; index: number; extId: string; given: Partial<T>; faulty: ReadonlySet<keyof T> };

/**
 * `stored`: the current members of an element that keeps members which the request leaves out (merge). Without it, a
 * member that is left out gets its default, and a required one is reported as REQUIRED.
 */
export const resolveMembers = <T extends { position: number }>(
  members: Members<T>,
  sent: Sent<T>,
  stored: T | undefined,
  findings: Findings,
): T => {
  const full: Partial<T> = {};
  for (const key of Object.keys(members) as (keyof T)[]) {
    const member = members[key];
    const given = sent.given[key];
    if (given !== undefined) full[key] = given;
    else if (stored !== undefined) full[key] = stored[key];
    else if (key === 'position') full[key] = sent.index as T[typeof key];
    else {
      full[key] = member.fallback as T[typeof key];
      if (member.fallback === undefined && !sent.faulty.has(key))
        findings.error(`${sent.pointer}/${member.field}`, sent.extId, 'REQUIRED', 'is required');
    }
  }
  // A member is missing here only where a finding names it, and then the element is never stored.
  return full as T;
};

/** The differences in the form of the report. */
export const changesOf = <T>(members: Members<T>, before: T, after: T): FieldChange[] => {
  const changes: FieldChange[] = [];
  for (const key of Object.keys(members) as (keyof T)[]) {
    if (isSame(before[key], after[key])) continue;
    const { field, show = (value: T[typeof key]): unknown => value } = members[key];
    changes.push({ field, from: show(before[key]), to: show(after[key]) });
  }
  return changes;
};

export const isSame = (left: unknown, right: unknown): boolean =>
  left === right ||
  (typeof left === 'object' && typeof right === 'object' && canonicalJson(left) === canonicalJson(right));
