import { secretMask } from '../../domain/accounts/secret-variables.ts'
import type { Actor } from '../../domain/actor.ts'
import { printEnvFlags } from '../../domain/launch/env-flags.ts'
import type { LaunchMode } from '../../domain/launch/launch.ts'
import { printWords } from '../../domain/launch/shell-words.ts'
import { defaultDiskMb } from '../../domain/offers/offers.ts'
import { emptyAbout, splitImageTag } from '../../domain/templates/about.ts'
import { settingsOf, type TemplateSettings } from '../../domain/templates/templates.ts'
import { rentalsSelect, type Selected } from '../../services/templates/templates.ts'
import type { TemplateRow } from './row.ts'

const runtypeByMode: Record<LaunchMode, TemplateRow['runtype']> = {
  sshDirect: 'ssh',
  sshProxy: 'ssh',
  jupyterDirect: 'jupyter',
  jupyterProxy: 'jupyter',
  args: 'args',
}

/** What a row shows of a template. */
export function templateRowSelect(actor: Actor) {
  const columns = { id: true, hashId: true, accountId: true, name: true, public: true, settings: true } as const
  return { ...columns, createdAt: true, updatedAt: true, ...rentalsSelect(actor) } as const
}

export type ShownTemplate = Selected<ReturnType<typeof templateRowSelect>>

/** A template as a row, with every field that clients read. */
export function templateRow({ accountId }: Actor, template: ShownTemplate): TemplateRow {
  const { id, hashId, name, createdAt, updatedAt } = template
  const settings = settingsOf(template)
  const { registry, volumeHint, about = emptyAbout } = settings
  const { image, tag = '' } = splitImageTag(settings.image, settings.written?.tag)
  const mode = settings.mode ?? 'sshProxy'
  return {
    id,
    hash_id: hashId,
    creator_id: template.accountId === accountId ? accountId : null,
    name,
    image,
    tag,
    env: envFlagsOf(settings),
    onstart: settings.onStart ?? '',
    runtype: runtypeByMode[mode],
    use_ssh: mode !== 'args',
    // A direct notebook includes direct SSH.
    ssh_direct: mode === 'sshDirect' || mode === 'jupyterDirect',
    jup_direct: mode === 'jupyterDirect',
    use_jupyter_lab: settings.lab,
    jupyter_dir: settings.directory,
    args_str: settings.written?.args ?? (settings.args.length > 0 ? printWords(settings.args) : null),
    docker_login_repo: registry?.host ?? '',
    docker_login_user: registry?.username ?? '',
    docker_login_pass: registry ? secretMask : '',
    recommended_disk_space: settings.diskGb ?? defaultDiskMb / 1000,
    recommended: false,
    extra_filters: about.searchFilter,
    private: !template.public,
    desc: about.description,
    readme: about.readme,
    readme_visible: about.readmeVisible,
    href: about.href,
    repo: about.repository,
    volume_info: volumeHint && { mount_path: volumeHint.mountPath, size: volumeHint.sizeGb },
    count_created: template._count.instances,
    created_at: createdAt.getTime() / 1000,
    updated_at: updatedAt.getTime() / 1000,
  }
}

function envFlagsOf({ env, ports, hostname, written }: TemplateSettings): string {
  if (written?.envFlags) return written.envFlags
  const shown = env.map(({ name, value, secret }) => ({ name, value: secret ? secretMask : value }))
  return printEnvFlags({ env: shown, ports, hostname: hostname ?? undefined, volumes: [] })
}
