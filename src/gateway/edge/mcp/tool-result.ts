/** What an agent gets of the answer of an operation. */
import { Fault, isFaultCode } from '#src/contract/fault.ts';
import { scopeTokensOf } from '#src/contract/scope-tokens.ts';
import { insufficientScope } from '../../model/faults.ts';
import type { Tool } from './describe-tools.ts';
import type { InnerAnswer } from './inner-requests.ts';
import { objectOf, textOf } from './json-node.ts';

export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

export const errorResult = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: true });

/**
 * A refusal that the credential causes and another one would end: it becomes the status of the HTTP answer, by which a client
 * gets a new token (MCP, Authorization; RFC 6750 section 3.1). Undefined: the answer is for the agent. A 401 of the operation does
 * not end the credential: with an API key, for example, it is about the named tenant.
 */
export const credentialRefusal = ({ status, body, isOfOperation }: InnerAnswer): Fault | undefined => {
  if (status !== 403 && (status !== 401 || isOfOperation)) return undefined;
  const refusal = parsed(body) ?? {};
  // An envelope of the service, whose body is not filtered.
  const missing = scopeTokensOf(refusal.missing_scopes);
  if (status === 403) return missing.length === 0 ? undefined : insufficientScope(missing);
  const code = [refusal.code, refusal.error].find(isFaultCode) ?? 'INVALID_AUTH';
  const text = textOf(refusal.error_description) || textOf(refusal.message) || 'The credential is not accepted';
  return new Fault(code, text, { status: 401 });
};

/** An error of the operation is an error of the tool, with the body of the API as its text. */
export const toolResult = ({ route, shown }: Tool, answer: InnerAnswer, bytesMax: number): ToolResult => {
  const { status, headers, body, isCut } = answer;
  const isError = status < 200 || status > 299;
  if (isCut) return errorResult(tooLong(route.method, isError, bytesMax));
  const type = headers['content-type'] ?? '';
  if (body.length > 0 && !/^(?:text\/|application\/(?:[a-z.+-]*\+)?json)/i.test(type))
    return errorResult(`Answered with status ${status} and ${body.length} bytes of another type than JSON or text`);
  const text = body.toString('utf8');
  const value = isError ? undefined : parsed(body);
  // A client that knows the schema of the answer refuses a result without it.
  if (!isError && value === undefined)
    return errorResult(
      `${shown.name} was carried out with status ${status}, and its answer is no JSON object: ${text}`,
    );
  return value === undefined
    ? errorResult(text === '' ? `Refused with status ${status} and no content` : text)
    : { content: [{ type: 'text', text }], structuredContent: value, isError: false };
};

const tooLong = (method: string, isError: boolean, bytesMax: number): string => {
  const size = `The answer has more than ${bytesMax} bytes and was left out.`;
  if (isError) return size;
  return method === 'GET'
    ? `${size} Ask for less: set a smaller limit, name a filter, or follow the cursor page by page.`
    : `${size} The operation was carried out; do not send it again. Read its result with another tool.`;
};

const parsed = (body: Buffer): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...objectOf(value) } : undefined;
  } catch {
    return undefined;
  }
};
