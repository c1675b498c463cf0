/** The page that is shown instead of one that was refused or failed. */
import { Fault } from '#src/contract/fault.ts';
import type { PageContent } from '../page/answer.ts';
import { html } from '../page/html.ts';
import { panelPath } from '../page/page-path.ts';
import { Refusal } from '../page/refusal.ts';
import type { Texts } from '../texts/en/en.ts';

export type Problem = keyof Texts['frame']['problems'];

/** Shows the problem instead of the page. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;
  readonly detail: string | undefined;

  constructor(problem: Problem, detail?: string) {
    super(problem);
    this.problem = problem;
    this.detail = detail;
  }
}

const statusOf: Readonly<Record<Problem, number>> = {
  notFound: 404,
  forbidden: 403,
  expired: 403,
  unavailable: 503,
  failed: 500,
  refused: 400,
};

/** `detail`: the public text of a fault, instead of the general text. */
export const problemPage = (
  texts: Texts,
  problem: Problem,
  { requestId, detail, status }: { requestId: string; detail?: string | undefined; status?: number },
): PageContent => {
  const { title, text } = texts.frame.problems[problem];
  return {
    title,
    status: status ?? statusOf[problem],
    body: html`<p>${detail ?? text}</p>
<p><a href="${panelPath}">${texts.frame.backHome}</a></p>
<p class="hint">${texts.frame.requestId}: <code>${requestId}</code></p>`,
  };
};

/** Seconds, where the fault names none: that of a store which is not reachable. */
const retryAfterDefault = '2';

/**
 * The problem for a thrown error. Only the public text of a fault is shown. `isPassing`: is it a temporary failure of
 * the store? `retryAfter`: the value of that header.
 */
export const problemOf = (
  thrown: unknown,
  isPassing: (thrown: unknown) => boolean,
  { frame }: Texts,
): { problem: Problem; detail?: string | undefined; status?: number; retryAfter?: string | undefined } => {
  if (thrown instanceof ProblemError) return { problem: thrown.problem, detail: thrown.detail };
  if (thrown instanceof Fault) {
    if (thrown.status === 404) return { problem: 'notFound' };
    const retryAfter = thrown.headers?.['retry-after'];
    if (thrown.status === 503) return { problem: 'unavailable', retryAfter: retryAfter ?? retryAfterDefault };
    const { code, publicText, status } = thrown;
    const detail = thrown instanceof Refusal ? publicText : frame.refused(code, publicText);
    if (status < 500) return { problem: 'refused', detail, status, retryAfter };
    return { problem: 'failed' };
  }
  return isPassing(thrown) ? { problem: 'unavailable', retryAfter: retryAfterDefault } : { problem: 'failed' };
};
