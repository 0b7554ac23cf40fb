/* A program whose answer a test gives: it sends what it is run as, $SLURM_TIME_FORMAT, what it reads where that is a
 * file, and its arguments to SOCKET, each with a NUL behind it, and receives its exit code (a byte), the length of what it says on stderr (four bytes, in the
 * host's order), that, and what it says on stdout. See answered.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void give_up(const char *what)
{
	perror(what);
	exit(125);
}

/* Writes the next `left` bytes of the answer, or all of them. */
static void pass_on(FILE *answer, FILE *to, size_t left)
{
	char part[65536];
	while (left > 0) {
		size_t got = fread(part, 1, left < sizeof part ? left : sizeof part, answer);
		if (got == 0)
			return;
		if (fwrite(part, 1, got, to) != got)
			give_up("write");
		left -= got;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_un place = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	char self[4096] = "";
	const char *format = getenv("SLURM_TIME_FORMAT");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&place, sizeof place) != 0)
		give_up(SOCKET);
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		give_up("/proc/self/exe");
	FILE *question = fdopen(dup(fd), "w"), *answer = fdopen(fd, "r");
	if (!question || !answer)
		give_up("fdopen");
	fprintf(question, "%s%c%s%c", self, 0, format ? format : "", 0);
	struct stat input;
	if (fstat(0, &input) == 0 && S_ISREG(input.st_mode))
		pass_on(stdin, question, SIZE_MAX);
	fputc(0, question);
	for (int i = 1; i < argc; i++)
		fprintf(question, "%s%c", argv[i], 0);
	if (fclose(question) != 0 || shutdown(fd, SHUT_WR) != 0)
		give_up("send");

	int code = fgetc(answer);
	uint32_t said = 0;
	if (code == EOF || fread(&said, sizeof said, 1, answer) != 1)
		give_up("no answer");
	pass_on(answer, stderr, said);
	pass_on(answer, stdout, SIZE_MAX);
	if (fflush(stdout) != 0)
		give_up("write");
	return code;
}
