import { z } from 'zod'
import { boolean, integer, number, text } from '../values.ts'

const optionalText = (about: string) => z.string().nullable().describe(about)

export const templateRowSchema = z
  .object({
    id: integer('ID of the template. It stays the same when the template changes.'),
    hash_id: text('Hash that rentals use. It changes with the template.'),
    creator_id: z
      .int()
      .nullable()
      .describe('ID of the account if it owns the template; null for a public template of another account.'),
    name: text('Name of the template.'),
    image: text('Container image, without the tag if that was sent separately.'),
    tag: text('Tag of the image if it was sent separately, else "".'),
    env: text('Variables, ports and host name as Docker flags. Secret values are masked.'),
    onstart: text('Shell commands that run once the instance is up, or "".'),
    runtype: z.enum(['ssh', 'jupyter', 'args']).describe('Launch mode; ssh if the rental chooses it.'),
    use_ssh: boolean('Whether instances have SSH.'),
    ssh_direct: boolean('Whether SSH has a public port of its own.'),
    jup_direct: boolean('Whether the notebook has a public port of its own.'),
    use_jupyter_lab: boolean('Whether to start JupyterLab instead of the classic notebook.'),
    jupyter_dir: optionalText('Directory in which the notebook server starts; null for the default.'),
    args_str: optionalText('Arguments that replace those of the image, in the launch mode args; null without any.'),
    docker_login_repo: text('Host of the private registry, or "".'),
    docker_login_user: text('User name for the private registry, or "".'),
    docker_login_pass: text('Mask for the registry password, or "" without one.'),
    recommended_disk_space: number('Disk size in GB.'),
    recommended: boolean('Always false: Berth recommends no templates.'),
    extra_filters: text('Search for offers that suit the template, as a JSON string.'),
    private: boolean('Whether only the account that owns the template can use it.'),
    desc: text('Short description.'),
    readme: text('Long description.'),
    readme_visible: boolean('Whether to show the readme.'),
    href: text('URL of a page about the template, or "".'),
    repo: text('URL of the page of the image, or "".'),
    volume_info: z
      .object({
        mount_path: text('Path inside the instance.'),
        size: z.number().nullable().describe('Size of the volume, in GB; null for any size.'),
      })
      .nullable()
      .describe('Suggested volume, a hint for forms; null without one. It attaches no volume.'),
    count_created: integer('Number of instances that the account has rented with the template.'),
    created_at: number('Time of creation, in seconds since 1970.'),
    updated_at: number('Time of the last change, in seconds since 1970.'),
  })
  .meta({ id: 'Template', description: 'A template: saved settings for rentals.' })

export type TemplateRow = z.output<typeof templateRowSchema>

export const templateColumnsSchema = templateRowSchema.partial().catchall(z.null()).meta({
  id: 'TemplateColumns',
  description: 'The selected columns of a template. A column that does not exist is null.',
})

export type TemplateColumns = z.output<typeof templateColumnsSchema>
