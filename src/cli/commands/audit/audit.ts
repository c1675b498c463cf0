import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { auditCheckpointCommand } from './audit-checkpoint.ts';
import { auditExportCommand } from './audit-export.ts';
import { auditProveCommand } from './audit-prove.ts';
import { auditSearchCommand } from './audit-search.ts';
import { auditUnusedScopesCommand } from './audit-unused-scopes.ts';
import { auditVerifyCommand } from './audit-verify.ts';
import { auditWhoCommand } from './audit-who.ts';

export const auditCommands = (program: Command, output: Output): void => {
  const group = program
    .command('audit')
    .description('issued credentials, their use, and refused requests with reasons');
  auditSearchCommand(group, output);
  auditExportCommand(group, output);
  auditVerifyCommand(group, output);
  auditCheckpointCommand(group, output);
  auditProveCommand(group, output);
  auditWhoCommand(group, output);
  auditUnusedScopesCommand(group, output);
};
