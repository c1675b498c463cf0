/** Writes the error codes and scopes of the client for PHP. */
import { faultTexts } from '#src/app/reference/document/error-texts.ts';
import type { FaultCode } from '#src/contract/fault.ts';
import type { Model } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import { comment, quoted } from './spelling.ts';

const constantName = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_');

const classLines = (name: string, about: string, values: readonly { value: string; about: string }[]): string[] => [
  ...comment(about, ''),
  `final class ${name}`,
  '{',
  ...values
    .flatMap((one) => [
      ...comment(one.about, '    '),
      `    public const ${constantName(one.value)} = ${quoted(one.value)};`,
      '',
    ])
    .slice(0, -1),
  '}',
  '',
];

export const constantsText = ({ errorCodes, scopes }: Model): string =>
  [
    '<?php',
    `// ${generatedMark}`,
    '',
    'declare(strict_types=1);',
    '',
    'namespace Orderpass;',
    '',
    ...classLines(
      'ErrorCode',
      'Codes of refusals; versions 1.x may add some.',
      errorCodes.map((value) => ({ value, about: faultTexts[value as FaultCode] })),
    ),
    ...classLines(
      'Scope',
      'What an access token may be allowed to do.',
      scopes.map(({ name, description }) => ({ value: name, about: description })),
    ),
  ].join('\n');
