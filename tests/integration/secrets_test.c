/* secrets: certificates that are renewed while the broker runs, a set-up failure that stays visible until it
 * is mended, and that none of the secrets of such a run stands in anything that the product writes. */
#include "rig.h"

#include "support/accounts.h"
#include "support/tls_front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <arpa/inet.h>
#include <unistd.h>

enum { TLS_1_3 = 0x0304 };

/* Each stands in one file of its own, in the folder "secret", and nowhere else. */
#define IGGY_PASSWORD "pw-Iggy-4711-first"
#define WRONG_PASSWORD "pw-Iggy-4712-wrong"
#define STATUS_TOKEN "token-Status-4713-abcdef"
#define BROKER_PASSWORD "pw-Broker-4714-wrong"
#define INLINE_PASSWORD "pw-Inline-4715"
#define URL_PASSWORD "pw-Url-4716"
static const char *const secrets[] = {IGGY_PASSWORD,   WRONG_PASSWORD,  STATUS_TOKEN,
                                      BROKER_PASSWORD, INLINE_PASSWORD, URL_PASSWORD};
enum { SECRETS = sizeof secrets / sizeof *secrets };

static struct {
    struct rig *rig;
    struct tls_front *front;
    struct identity *ca, *other_ca, *server, *other_server, *client, *other_client;
    char keys[2][128]; /* lines of the client's private keys */
} t;

static char *path_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", t.rig->broker.dir, name);
    return path;
}

static void write_secret(const char *name, const char *text)
{
    CU_ASSERT_TRUE_FATAL(mi_write_file(path_of(name), text) && chmod(path_of(name), 0600) == 0);
}

/* The second line of a PEM file is enough of a key to look for. */
static void write_client(const struct identity *client, char key_line[128])
{
    identity_write_cert(client, path_of("secret/client.pem"));
    identity_write_key(client, path_of("secret/client.key"));
    chmod(path_of("secret/client.key"), 0600);
    FILE *f = fopen(path_of("secret/client.key"), "re");
    CU_ASSERT_TRUE(f && fgets(key_line, 128, f) && fgets(key_line, 128, f));
    key_line[strcspn(key_line, "\n")] = '\0';
    if (f)
        fclose(f);
}

static char *config_text(const char *more)
{
    static char text[3000];
    snprintf(
        text, sizeof text,
        "{'iggy':{'url':'https://127.0.0.1:%u','username':'bridge','password_file':'DIR/secret/iggy',"
        "'ca_file':'DIR/secret/ca.pem','client_cert_file':'DIR/secret/client.pem',"
        "'client_key_file':'DIR/secret/client.key'%s},"
        "'limits':{'retry_max':'500ms','stop_timeout':'1s'},"
        "'journal':{'directory':'DIR/journal'},'status':{'listen':'STATUS','token_file':'DIR/secret/token'},"
        "'broker':{'address':'BROKER','username':'self','password_file':'DIR/secret/self'},"
        "'client_events':{'stream':'mqtt','topic':'clients'},"
        "'routes':[{'name':'a','filter':'a/"
        "#','direction':'out','stream':'s','topic':'t','partition_key':'k'},"
        "{'name':'dead','filter':'dead/{n}','direction':'out','stream':'dead_{n}','topic':'t'},"
        "{'name':'w','filter':'w/#','direction':'out','via':'subscription','stream':'s','topic':'w'}]}",
        tls_front_port(t.front), more);
    return text;
}

/* With the token; malloc'd. */
static char *get_with(const char *token, const char *page)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(t.rig->broker.status_port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[400], *text = calloc(1, 1 << 20);
    size_t len = 0;
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", page,
             token);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
        for (ssize_t n; len < (1 << 20) - 1 && (n = recv(fd, text + len, (1 << 20) - 1 - len, 0)) > 0;)
            len += (size_t)n;
    close(fd);
    return text;
}

static char *get(const char *page)
{
    return get_with(STATUS_TOKEN, page);
}

static bool status_holds(const char *text, unsigned timeout_ms)
{
    bool found = false;
    for (uint64_t end = mi_monotonic_ms() + timeout_ms; !found && mi_monotonic_ms() < end; mi_sleep_ms(30)) {
        char *page = get("/status.json");
        found = strstr(page, text) != NULL;
        free(page);
    }
    return found;
}

static void set_up(void)
{
    t.rig = rig_new("password_file DIR/users\n", NULL);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&t.rig->iggy));
    CU_ASSERT_TRUE_FATAL(
        mi_account_create(t.rig->iggy.port, "bridge", IGGY_PASSWORD,
                          "{'global':{'manage_servers':true,'read_servers':true,'manage_users':false,"
                          "'read_users':false,'manage_streams':true,'read_streams':true,"
                          "'manage_topics':true,'read_topics':true,'poll_messages':true,"
                          "'send_messages':true},'streams':null}"));
    char command[500];
    snprintf(command, sizeof command, "mosquitto_passwd -b -c %s self something-else", path_of("users"));
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir(path_of("secret"), 0700), 0);
    t.ca = identity_new(IDENTITY_CA, NULL, 2, NULL);
    t.other_ca = identity_new(IDENTITY_CA, NULL, 2, NULL);
    t.server = identity_new(IDENTITY_SERVER, "IP:127.0.0.1", 2, t.ca);
    t.other_server = identity_new(IDENTITY_SERVER, "IP:127.0.0.1", 2, t.other_ca);
    t.client = identity_new(IDENTITY_CLIENT, NULL, 2, t.ca);
    t.other_client = identity_new(IDENTITY_CLIENT, NULL, 2, t.other_ca);
    identity_write_cert(t.ca, path_of("secret/ca.pem"));
    write_client(t.client, t.keys[0]);
    write_secret("secret/iggy", IGGY_PASSWORD "\n");
    write_secret("secret/token", STATUS_TOKEN "\n");
    write_secret("secret/self", BROKER_PASSWORD "\n");
    char url[60];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", t.rig->iggy.port);
    t.front = tls_front_start(url, t.server);
    tls_front_use(t.front, t.server, t.ca, TLS_1_3);
}

static void publish(const char *topic, const char *text)
{
    struct mi_mqtt *c = rig_client(t.rig, "c", MQTT_PROTOCOL_V311);
    CU_ASSERT_EQUAL(mi_mqtt_say(c, topic, text, 1), 0);
    mi_mqtt_close(c);
}

/* All connections end, so that the next handshake shows what is in force now. */
static void cut_connections(void)
{
    mi_iggy_server_stop(&t.rig->iggy);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&t.rig->iggy));
}

static bool arrives(const char *topic)
{
    const struct mi_stored *s = NULL;
    for (int i = 0; i < 4 && !s; i++)
        s = rig_arrived(t.rig, "s", "t", topic);
    return s != NULL;
}

static void field_127_renewed_files_are_taken_up_without_a_reload(void)
{
    set_up();
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&t.rig->broker, config_text(""), t.rig->iggy.port));
    CU_ASSERT_TRUE_FATAL(mi_broker_start(&t.rig->broker));
    publish("a/1", "x");
    CU_ASSERT_TRUE(arrives("a/1"));
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":null", 5000));
    /* The server has a certificate of another CA, and wants clients of that CA. */
    tls_front_use(t.front, t.other_server, t.other_ca, TLS_1_3);
    cut_connections();
    publish("a/2", "x");
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":\"", 20000));
    CU_ASSERT_TRUE(mi_broker_says(&t.rig->broker, "nothing is shipped to Iggy", 10000));
    CU_ASSERT_TRUE(mi_broker_says(&t.rig->broker, "certificate", 10000));
    mi_sleep_ms(1500);
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":\"", 100)); /* it stays */
    mi_readback_read(t.rig->readback, "s", "t");
    CU_ASSERT_PTR_NULL(mi_readback_of(t.rig->readback, "a/2"));
    identity_write_cert(t.other_ca, path_of("secret/ca.pem"));
    mi_sleep_ms(700);
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":\"", 3000)); /* now the server refuses the client */
    write_client(t.other_client, t.keys[1]);
    CU_ASSERT_TRUE(arrives("a/2"));
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":null", 5000));
}

static void reload_with(const char *json)
{
    CU_ASSERT_TRUE(mi_broker_config(&t.rig->broker, json, t.rig->iggy.port));
    CU_ASSERT_TRUE(mi_broker_reload(&t.rig->broker));
}

/* Everything else that can go wrong with a secret in it. */
static void fail_in_every_way(void)
{
    char inline_password[200], in_url[3000];
    write_secret("secret/iggy", WRONG_PASSWORD "\n");
    CU_ASSERT_TRUE(mi_broker_reload(&t.rig->broker));
    publish("a/3", "x");
    CU_ASSERT_TRUE(status_holds("\"iggy_error\":\"", 20000));
    snprintf(inline_password, sizeof inline_password, ",'password':'" INLINE_PASSWORD "'");
    reload_with(config_text(inline_password));
    CU_ASSERT_TRUE(status_holds("\"reload_error\":\"", 10000));
    snprintf(in_url, sizeof in_url, "%s", config_text(""));
    char *host = strstr(in_url, "127.0.0.1:");
    char rest[3000];
    snprintf(rest, sizeof rest, "%s", host);
    snprintf(host, sizeof in_url - (size_t)(host - in_url), "bridge:" URL_PASSWORD "@%.2500s", rest);
    reload_with(in_url);
    CU_ASSERT_TRUE(mi_broker_says(&t.rig->broker, "holds a user or password", 10000));
    chmod(path_of("secret/iggy"), 0644);
    reload_with(config_text(""));
    CU_ASSERT_TRUE(mi_broker_says(&t.rig->broker, "mode 0644", 10000));
    write_secret("secret/iggy", IGGY_PASSWORD "\n");
    CU_ASSERT_TRUE(mi_broker_reload(&t.rig->broker));
    CU_ASSERT_TRUE(arrives("a/3"));
    char topic[310] = "dead/";
    memset(topic + 5, 'x', 300);
    publish(topic, "x"); /* a stream's name that Iggy does not take */
    CU_ASSERT_TRUE(
        mi_broker_says(&t.rig->broker, "refuses the login", 10000)); /* the broker, our subscription */
}

/* ---- the search ---- */

static size_t files, bytes;

static bool holds(const char *data, size_t len, const char *what)
{
    const char *found = memmem(data, len, what, strlen(what));
    return found != NULL;
}

static void search(const char *name, const char *data, size_t len)
{
    for (size_t i = 0; i < SECRETS; i++)
        if (holds(data, len, secrets[i])) {
            printf("\n    %s holds \"%s\"\n", name, secrets[i]);
            CU_FAIL("a secret is written");
        }
    for (size_t i = 0; i < 2; i++)
        if (holds(data, len, t.keys[i])) {
            printf("\n    %s holds a private key\n", name);
            CU_FAIL("a private key is written");
        }
    files++;
    bytes += len;
}

static void search_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t cap = 8 << 20, len = 0;
    char *data = malloc(cap);
    for (ssize_t n; fd >= 0 && len < cap && (n = read(fd, data + len, cap - len)) > 0;)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    search(path, data, len);
    free(data);
}

static void search_folder(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[600];
        struct stat st;
        snprintf(path, sizeof path, "%.300s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || strcmp(e->d_name, "secret") == 0 || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            search_folder(path);
        else if (S_ISREG(st.st_mode))
            search_file(path);
    }
    if (d)
        closedir(d);
}

static void search_page(const char *page)
{
    char *text = get(page);
    CU_ASSERT_TRUE(strlen(text) > 100);
    search(page, text, strlen(text));
    free(text);
}

static void search_command(const char *arguments)
{
    char command[1000];
    static char text[1 << 20];
    snprintf(command, sizeof command, TOOL " %s 2>&1", arguments);
    FILE *f = popen(command, "re");
    size_t len = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        pclose(f);
    CU_ASSERT_TRUE(len > 20);
    search(arguments, text, len);
}

static int status_of(const char *token)
{
    int status = 0;
    char *text = get_with(token, "/metrics");
    sscanf(text, "HTTP/1.1 %d", &status);
    free(text);
    return status;
}

static void wait_for_status(const char *token, int status)
{
    for (uint64_t end = mi_monotonic_ms() + 10000; mi_monotonic_ms() < end && status_of(token) != status;)
        mi_sleep_ms(20);
    CU_ASSERT_EQUAL(status_of(token), status);
}

static void a_reload_brings_another_token(void)
{
    CU_ASSERT_EQUAL(status_of(STATUS_TOKEN), 200);
    CU_ASSERT_EQUAL(status_of("x"), 401);
    write_secret("secret/token", "another-" STATUS_TOKEN);
    CU_ASSERT_TRUE(mi_broker_reload(&t.rig->broker));
    wait_for_status(STATUS_TOKEN, 401);
    wait_for_status("another-" STATUS_TOKEN, 200);
    write_secret("secret/token", STATUS_TOKEN);
    CU_ASSERT_TRUE(mi_broker_reload(&t.rig->broker));
    wait_for_status(STATUS_TOKEN, 200);
}

static void field_125_nothing_that_is_written_holds_a_secret(void)
{
    char path[300], arguments[600];
    fail_in_every_way();
    search_page("/status.json");
    search_page("/metrics");
    snprintf(path, sizeof path, "/proc/%d/cmdline", t.rig->broker.process.pid);
    search_file(path);
    snprintf(path, sizeof path, "/proc/%d/environ", t.rig->broker.process.pid);
    search_file(path);
    snprintf(arguments, sizeof arguments, "check --print %s", path_of("iggy.json"));
    search_command(arguments);
    snprintf(arguments, sizeof arguments, "journal dump %s", path_of("journal"));
    search_command(arguments);
    CU_ASSERT_TRUE(mi_broker_stop(&t.rig->broker, 20000));
    search_folder(t.rig->broker.dir);
    printf("\n    %zu files and pages, %zu bytes\n", files, bytes);
    CU_ASSERT_TRUE(files > 10 && bytes > 100000);
    tls_front_stop(t.front);
    rig_free(t.rig);
    struct identity *all[] = {t.client, t.other_client, t.server, t.other_server, t.ca, t.other_ca};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        identity_free(all[i]);
}

static CU_TestInfo tests[] = {
    {"field 127: renewed files are taken up without a reload",
     field_127_renewed_files_are_taken_up_without_a_reload},
    {"a reload brings another token", a_reload_brings_another_token},
    {"field 125: nothing that is written holds a secret", field_125_nothing_that_is_written_holds_a_secret},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("secrets", tests)
